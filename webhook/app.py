"""The webhook as a plain WSGI app: each route parses the request, evaluates the rules and responds.

A decision is always HTTP 200. Anything else (a bad review, not ready, an internal error) is a status from 400 up, so
that the cluster's failure policy decides and nothing is allowed by accident.
"""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from typing import TypeAlias

from flask import Flask, Response, g, request
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from cluster.store import ObjectCache
from policies.dialects import core, kueue, kueue_jobs, volcano
from policies.dialects.kueue_jobs import QueuedJob
from policies.dialects.kueue_kinds import CONVERSION_PATH
from policies.dialects.priority_class import PRIORITY_CLASS
from policies.dialects.yunikorn_work import WORKLOAD_GROUPS
from policies.judge import Judgement
from policies.judging.verdict import Verdict
from policies.model.forest import Forest
from policies.model.printing import plain
from policies.mutation.defaults import patch
from policies.rules import registry
from webhook import answer, bounds, conversion, decision
from webhook.ledger.clerk import LedgerUnavailable
from webhook.ledger.ledger import Order
from webhook.metrics import Metrics
from webhook.owners import OwnerMissing, OwnerUnknown, owners
from webhook.review import BadReview, Review, parse
from webhook.settings import WebhookSettings

log = logging.getLogger(__name__)

DEMANDING = "/v1/mutate/volcano-quota"
"""The path for Pods of Namespaces with the label by which all their Pods wait for Volcano's quota: the API server knows
the label before any cache does."""
VALIDATING: Mapping[str, frozenset[str]] = {
    "/v1/validate/kueue": frozenset({kueue.GROUP, core.POD.group, *(kind.group for kind in kueue_jobs.KINDS)}),
    "/v1/validate/volcano": frozenset({volcano.GROUP, volcano.JOB.group, core.POD.group}),
    "/v1/validate/yunikorn": frozenset({core.NAMESPACE.group, PRIORITY_CLASS.group}) | WORKLOAD_GROUPS,
}
MUTATING: Mapping[str, frozenset[str]] = {
    "/v1/mutate/kueue": frozenset({kueue.GROUP, core.POD.group, *(kind.group for kind in kueue_jobs.KINDS)}),
    "/v1/mutate/volcano": frozenset({volcano.GROUP, volcano.JOB.group, core.POD.group}),
    "/v1/mutate/yunikorn": frozenset({core.NAMESPACE.group}) | WORKLOAD_GROUPS,
    DEMANDING: frozenset({core.POD.group}),
}
"""Each path and the API groups that it serves."""
CONVERTING = CONVERSION_PATH
"""The conversion webhook of the CustomResourceDefinitions of Kueue's group."""

_POLL_INTERVAL = 0.005  # seconds; a watch brings news within a few milliseconds


class Crowded(Exception):
    """The new object has more entries than can be judged in time; the message says which."""

    def __init__(self, review: Review, text: str) -> None:
        super().__init__(text)
        self.review = review


Answer: TypeAlias = tuple[str, int, Mapping[str, str]]


class NotReady(Exception):
    """The cache is not synced, so nothing can be judged."""


def create_app(
    settings: WebhookSettings,
    cache: Callable[[], ObjectCache],
    *,
    metrics: Metrics | None = None,
    draining: threading.Event | None = None,
    order: Order | None = None,
) -> Flask:
    """The app over a cache. Once `draining` is set, /readyz fails while requests are still served.

    Without an `order` each request is judged on the cache alone.
    """
    registry()  # no review waits for imports
    app = Flask("webhook", static_folder=None)
    # One more than allowed, since a body of unknown length is silently cut at this length.
    app.config["MAX_CONTENT_LENGTH"] = settings.body_limit + 1
    views = _Views(settings, cache, metrics or Metrics(), draining or threading.Event(), order)
    for path, groups in VALIDATING.items():
        app.add_url_rule(path, path, partial(views.validate, groups), methods=["POST"])
    described = frozenset(kind.group for kind in settings.configuration.reconciler.jobs)
    for path, groups in MUTATING.items():
        app.add_url_rule(path, path, partial(views.mutate, groups | described), methods=["POST"])
    app.add_url_rule(CONVERTING, CONVERTING, views.convert, methods=["POST"])
    app.add_url_rule("/healthz", "healthz", views.healthz)
    app.add_url_rule("/readyz", "readyz", views.readyz)
    app.before_request(views.begin)
    app.after_request(views.end)
    app.register_error_handler(BadReview, _bad_request)
    app.register_error_handler(Crowded, views.crowded)
    app.register_error_handler(NotReady, _not_ready)
    app.register_error_handler(OwnerMissing, views.owner_missing)
    app.register_error_handler(OwnerUnknown, _owner_unknown)
    app.register_error_handler(RequestEntityTooLarge, _too_long)
    app.register_error_handler(HTTPException, _http_error)
    app.register_error_handler(Exception, _fault)
    return app


def unready(cache: ObjectCache, draining: threading.Event, order: Order | None = None) -> list[str]:
    """Why no requests should be sent here; empty where they should."""
    return ["draining"] if draining.is_set() else cache.ready() or (order.ready() if order else [])


class _Views:
    """The views, with their shared state."""

    def __init__(
        self,
        settings: WebhookSettings,
        cache: Callable[[], ObjectCache],
        metrics: Metrics,
        draining: threading.Event,
        order: Order | None,
    ) -> None:
        self._configuration = settings.configuration
        self._log_one_in = settings.log_one_allowed_in
        self._conversion_limit = settings.conversion_limit
        self._cache = cache
        self._metrics = metrics
        self._draining = draining
        self._order = order
        self._quiet = itertools.count()
        self._patience = settings.patience_seconds
        self._waiting = threading.Semaphore(
            max(1, settings.threads // 2)
        )  # the other threads serve requests that need not wait

    def validate(self, groups: frozenset[str]) -> Response:
        review = _review(groups)
        try:
            judgement = self._judged(review)
        except LedgerUnavailable as error:
            self._decided(review, "unavailable", why=[str(error)])
            return _json(answer.unavailable(review, str(error)))
        verdict = judgement.verdict if judgement else Verdict()
        if not review.dry_run:
            self._metrics.found(verdict)
        self._decided(review, answer.outcome(verdict), rules=answer.rule_ids(verdict))
        return _json(answer.validated(review, verdict, self._configuration.profile))

    def mutate(self, groups: frozenset[str]) -> Response:
        review = _review(groups)
        forest = self._forest().put_all(self._owners(review))
        asked = (forest, self._configuration, review.operation, review.user)
        demanded = request.path == DEMANDING
        operations = patch(review.object, *asked, demanded=demanded) if review.object else []
        self._decided(review, "patched" if operations else "allowed", patched=[o["path"] for o in operations])
        return _json(answer.mutated(review, operations))

    def convert(self) -> Response:
        """Convert objects to another version. Needs no cache, since objects are read before a cache is synced."""
        request.max_content_length = self._conversion_limit + 1
        asked = conversion.parse(_body())
        done = conversion.perform(asked)
        self._metrics.converted(asked.to, len(asked.objects), bool(done.failure))
        if done.failure:
            log.warning("conversion to %s failed: %s", asked.to, done.failure)
        return _json(done.body())

    def crowded(self, error: Crowded) -> Response:
        """Refuse it. An error would let work pass unjudged, since work fails open."""
        self._decided(error.review, "denied", rules=["too-many-entries"])
        return _json(answer.denied(error.review, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, str(error)))

    def owner_missing(self, error: OwnerMissing) -> Response:
        self._decided(error.review, "denied", why=[str(error)])
        return _json(answer.denied(error.review, HTTPStatus.FORBIDDEN, str(error)))

    def healthz(self) -> Answer:
        """The process responds."""
        return _text("ok", 200)

    def readyz(self) -> Answer:
        """Whether to send requests here; if not, what is missing."""
        lacks = unready(self._cache(), self._draining, self._order)
        return _text("not ready: " + "; ".join(lacks), 503) if lacks else _text("ok", 200)

    def begin(self) -> None:
        g.started = time.perf_counter()

    def end(self, response: Response) -> Response:
        """Count the response, whether decision or error."""
        if request.path in VALIDATING or request.path in MUTATING:
            review: Review | None = g.get("review")
            self._metrics.answered(
                request.path,
                review.operation if review else "",
                g.get("outcome") if response.status_code == 200 else f"http-{response.status_code}",
                review is not None and review.dry_run,
                time.perf_counter() - g.started,
            )
        return response

    def _judged(self, review: Review) -> Judgement | None:
        """The judgement; a refusal that may rest on a stale cache is looked at again when news arrives."""
        forest, above = self._forest(), self._owners(review)
        asked = decision.case(review, self._configuration, self._cache().snapshot())
        if asked is not None and asked.ordered and self._order is not None:
            return self._order.decide(asked.change, asked.judged, asked.entry())
        found = asked.judged(forest.put_all(above)) if asked else None
        if _may_be_stale(found) and self._patience and self._waiting.acquire(blocking=False):
            try:
                deadline = time.monotonic() + self._patience
                while _may_be_stale(found) and (news := self._news(forest, deadline)):
                    forest = news
                    found = asked.judged(forest.put_all(above)) if asked else None
            finally:
                self._waiting.release()
        return found

    def _news(self, forest: Forest, deadline: float) -> Forest | None:
        """The next forest after this one, None after the deadline."""
        while time.monotonic() < deadline:
            if (newest := self._forest()) is not forest:
                return newest
            time.sleep(_POLL_INTERVAL)
        return None

    def _owners(self, review: Review) -> list[QueuedJob]:
        return owners(review, self._configuration, self._cache().fetch)

    def _forest(self) -> Forest:
        cache = self._cache()
        if lacks := cache.ready():
            raise NotReady("; ".join(lacks))
        return cache.forest()

    def _decided(self, review: Review, outcome: str, **more: list[str]) -> None:
        """Log the decision; of requests without findings only a sample."""
        g.outcome = outcome
        if outcome == "allowed" and not any(more.values()) and next(self._quiet) % self._log_one_in:
            return
        named = f"{review.namespace}/{review.name}" if review.namespace else review.name
        fields = {
            "uid": review.uid,
            "endpoint": request.path,
            "operation": review.operation,
            "object": f"{review.kind.kind} {named}",
            "user": review.user.name,
            "dry_run": review.dry_run,
            "verdict": outcome,
            **{key: value for key, value in more.items() if value},
            "milliseconds": round((time.perf_counter() - g.started) * 1000, 3),
        }
        log.info("decision", extra={"fields": fields})


def _may_be_stale(found: Judgement | None) -> bool:
    return found is not None and decision.may_be_stale(found.verdict)


def _body() -> bytes:
    """The request's body. Raises BadReview, or RequestEntityTooLarge before the whole body is read."""
    if request.mimetype != "application/json":
        raise BadReview(f"the content type is {request.mimetype!r}; it must be application/json")
    body = request.get_data(cache=False)
    if len(body) == request.max_content_length:
        raise RequestEntityTooLarge
    return body


def _review(groups: frozenset[str]) -> Review:
    """The request's review. Raises as _body does, and Crowded."""
    body = _body()
    g.review = review = parse(body)
    if review.kind.group not in groups:
        raise BadReview(
            f"{request.path} does not serve group {review.kind.group!r} (kind {review.kind.kind});"
            " correct the rules or the path in the webhook configuration"
        )
    if much := bounds.crowded(review.object, len(body)):
        raise Crowded(review, much)
    return review


def _json(body: bytes) -> Response:
    return Response(body, mimetype="application/json")


def _text(text: str, status: int) -> Answer:
    return f"{plain(text)}\n", status, {"Content-Type": "text/plain; charset=utf-8"}


def _bad_request(error: BadReview) -> Answer:
    return _text(str(error), 400)


def _not_ready(error: NotReady) -> Answer:
    return _text(f"not ready: {error}", 500)


def _owner_unknown(error: OwnerUnknown) -> Answer:
    log.warning("%s", error)
    return _text(str(error), 500)


def _too_long(_: RequestEntityTooLarge) -> Answer:
    body, status, headers = _text(f"the body has {request.max_content_length} bytes or more, which is too long", 413)
    return body, status, {**headers, "Connection": "close"}  # do not read the rest of the body


def _http_error(error: HTTPException) -> Answer:
    return _text(error.description or error.name, error.code or 500)


def _fault(error: Exception) -> Answer:
    log.error("internal error in %s", request.path, exc_info=error)
    return _text("internal error; the log of the webhook has the traceback", 500)
