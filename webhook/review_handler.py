"""Answers admission requests, for the routes of the app and for the loop of the connections.

A decision always has status 200. A bad review, an internal error, or a cache that is not ready gets a status of 400 or
above. The failure policy of the webhook then decides, so nothing is allowed by accident.
"""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import NamedTuple, ParamSpec, TypeVar

from cluster.errors import ClusterError
from cluster.resource import Manifest, Resource
from cluster.reviews import Access, Caller
from cluster.store import ManifestCache
from cluster.tracing.ids import trace_id
from cluster.tracing.span import SpanRecorder
from policies.dialects import core, kueue, kueue_jobs, volcano
from policies.dialects.kueue_jobs import QueuedJob
from policies.dialects.priority_class import PRIORITY_CLASS
from policies.dialects.yunikorn_work import WORKLOAD_GROUPS
from policies.judge import Judgement
from policies.judging.verdict import Verdict
from policies.model.change import ChangeOperation
from policies.model.forest import Forest
from policies.model.objects import KubeObject, joined
from policies.model.printing import plain
from policies.mutation.defaults import patch
from webhook import answer, bounds, decision, scaling
from webhook.ledger.keeping import MaintainedLedger
from webhook.ledger.requested import AlreadyExists, LedgerBusy
from webhook.ledger.store import LedgerUnavailable
from webhook.metrics import WebhookMetrics
from webhook.owners import Fetch, May, OwnerMissing, OwnerUnknown, creator, named_workload, owners, releaser
from webhook.review import BadReview, Review, parse
from webhook.settings import WebhookSettings
from webhook.spans import ReviewTrace, record

log = logging.getLogger(__name__)
P = ParamSpec("P")
T = TypeVar("T")

DEMANDING = "/v1/mutate/volcano-quota"
"""The path for Pods in Namespaces with the label that makes all Pods wait for Volcano's quota. The API server matches
the label itself, since no cache may have it yet."""
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
"""The API groups that each path serves."""

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"
_OWNERS_SECONDS = 1.0
"""How long owners of a new object are read. The API server waits for 2 s, and then creates a Pod without its gate."""
_POLL_INTERVAL = 0.005  # seconds; a watch brings news within a few milliseconds


class MustWait(Exception):
    """The answer has to wait for the ledger, the API server or a watch event. Call `ReviewHandler.go_on` in a worker
    thread."""

    def __init__(self, request: KnownRequest) -> None:
        super().__init__(request.path)
        self.request = request


class _NotReady(Exception):
    """The cache is not synced, so nothing can be judged."""


class Reply(NamedTuple):
    """The HTTP reply to an admission request. A decision has the content type JSON, an error plain text."""

    status: HTTPStatus
    content_type: str
    body: bytes


class KnownRequest:
    """A request, with the intermediate results of answering it.

    `waits`: whether the answer may wait; if not, MustWait is raised instead.
    `gone`: returns whether the client has gone.
    """

    __slots__ = ("body", "case", "gone", "outcome", "path", "review", "started", "trace", "waits")

    def __init__(
        self,
        path: str,
        body: bytes,
        *,
        waits: bool,
        trace: ReviewTrace | None = None,
        gone: Callable[[], bool] = lambda: False,
    ) -> None:
        self.path, self.body, self.waits = path, body, waits
        self.started = time.perf_counter()
        self.review: Review | None = None
        self.case: decision.JudgedRequest | None = None
        self.outcome = ""
        self.trace = trace
        self.gone = gone

    @property
    def user(self) -> str:
        """The user who sent the request; empty until it is parsed."""
        return self.review.user.name if self.review is not None else ""

    def timed(self, name: str, work: Callable[P, T]) -> Callable[P, T]:
        """The function, wrapped in a span if tracing is on."""
        return work if self.trace is None else self.trace.timed(name, work)

    def followed(self) -> dict[str, str]:
        """Fields for log lines: the id that the API server gave the request, and its trace."""
        if self.review is None:
            return {}
        trace = self.trace.id(self.review) if self.trace is not None else trace_id(self.review.uid)
        return {"uid": self.review.uid, "trace": trace}


class ReviewHandler:
    """Answers requests; many threads may use it.

    `order`: the ledger; without it each request is judged on the cache alone.
    `spans`: the recorder of traces; None records none. `traced` is whether callers must pass the header `traceparent`.
    """

    def __init__(
        self,
        settings: WebhookSettings,
        cache: Callable[[], ManifestCache],
        metrics: WebhookMetrics,
        order: MaintainedLedger | None,
        spans: SpanRecorder | None = None,
    ) -> None:
        self.traced = spans is not None
        self._spans = spans
        self._configuration = settings.configuration
        self._log_one_in = settings.log_one_allowed_in
        self._cache = cache
        self._metrics = metrics
        self._order = order
        self._quiet = itertools.count()
        self._patience = settings.patience_seconds
        self._waiting = threading.Semaphore(
            max(1, settings.threads // 2)
        )  # the other threads serve requests that need not wait
        described = frozenset(kind.group for kind in settings.configuration.reconciler.jobs)
        self._groups = {**VALIDATING, **{path: groups | described for path, groups in MUTATING.items()}}

    @property
    def paths(self) -> frozenset[str]:
        return frozenset(self._groups)

    def answer(
        self,
        path: str,
        body: bytes,
        *,
        waits: bool = True,
        parent: str = "",
        gone: Callable[[], bool] = lambda: False,
    ) -> Reply:
        """Answer a POST of JSON to one of `paths`, and count and log it. Errors become a reply.

        `waits`: whether the answer may wait. If it may not but has to, MustWait is raised.
        `parent`: the header `traceparent`.
        `gone`: returns whether the client has gone.
        """
        trace = ReviewTrace(parent) if self._spans is not None else None
        return self._answer(KnownRequest(path, body, waits=waits, trace=trace, gone=gone))

    def go_on(self, request: KnownRequest) -> Reply:
        """Answer a request that raised MustWait. Its body is not parsed again."""
        request.waits = True
        return self._answer(request)

    def _answer(self, request: KnownRequest) -> Reply:
        try:
            reply = self._decide(request)
        except BadReview as error:
            reply = text(str(error), HTTPStatus.BAD_REQUEST)
        except _NotReady as error:
            reply = text(f"not ready: {error}", HTTPStatus.INTERNAL_SERVER_ERROR)
        except OwnerUnknown as error:
            log.warning("%s", error, extra={"fields": request.followed()})
            reply = text(str(error), HTTPStatus.INTERNAL_SERVER_ERROR)
        except MustWait:
            raise
        except Exception as error:
            reply = fault(request.path, error, request.followed())
        self._count(request, reply.status)
        return reply

    def refused(self, path: str, status: int) -> None:
        """Count a request that another module answered with an error, or denied."""
        request = KnownRequest(path, b"", waits=True)
        request.outcome = "denied"
        self._count(request, status)

    def _count(self, request: KnownRequest, status: int) -> None:
        review = request.review
        outcome = request.outcome if status == HTTPStatus.OK and request.outcome else f"http-{int(status)}"
        self._metrics.answered(
            request.path,
            review.operation if review else "",
            outcome,
            review is not None and review.dry_run,
            time.perf_counter() - request.started,
        )
        if self._spans is not None and request.trace is not None and review is not None:
            failed = outcome if status != HTTPStatus.OK or outcome == "unavailable" else ""
            record(self._spans, request.trace.spans(review, request.path, outcome, failed, request.started))

    def _decide(self, request: KnownRequest) -> Reply:
        """Judge the request. Raises errors, which `_answer` turns into replies."""
        review = request.review or parse(request.body)
        request.review = review
        if review.subresource == scaling.SUBRESOURCE:
            review = request.review = scaling.whole(review, self._fetch(request, review))
        if review.kind.group not in self._groups[request.path]:
            raise BadReview(
                f"{request.path} does not serve group {review.kind.group!r} (kind {review.kind.kind});"
                " correct the rules or the path in the webhook configuration"
            )
        excess = bounds.crowded(review.object, len(request.body))
        excess = excess or bounds.foreign_settings(review.object, self._configuration.yunikorn)
        if excess:
            # Deny it: with an error, work would pass unjudged, since the webhooks for work fail open.
            self._decided(request, review, "denied", rules=["too-large"])
            return _json(answer.denied(review, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, excess))
        try:
            return (self._validate if request.path in VALIDATING else self._mutate)(request, review)
        except OwnerMissing as error:
            self._decided(request, review, "denied", why=[str(error)])
            return _json(answer.denied(review, HTTPStatus.FORBIDDEN, str(error)))

    def _validate(self, request: KnownRequest, review: Review) -> Reply:
        try:
            judgement = self._judged(request, review)
        except LedgerUnavailable as error:
            self._decided(request, review, error.result, why=[str(error)])
            return _json(answer.unavailable(review, str(error)))
        except AlreadyExists as error:
            self._decided(request, review, "denied", why=[str(error)])
            return _json(answer.exists(review, str(error)))
        verdict = judgement.verdict if judgement else Verdict()
        for failed in verdict.failed:
            fields = request.followed()
            log.error("rule %s failed: internal error", failed.rule.id, exc_info=failed.error, extra={"fields": fields})
        if not review.dry_run:
            self._metrics.found(verdict)
        self._decided(request, review, answer.outcome(verdict), rules=answer.rule_ids(verdict))
        return _json(answer.validated(review, verdict, self._configuration.profile))

    def _mutate(self, request: KnownRequest, review: Review) -> Reply:
        forest = self._forest()
        above = self._owners(request, review, forest)
        user = creator(review, above, self._may(request))
        about = (forest.put_all(above), self._configuration, review.operation, user)
        demanded = request.path == DEMANDING
        operations = patch(review.object, *about, demanded=demanded) if review.object else []
        self._decided(request, review, "patched" if operations else "allowed", patched=[o["path"] for o in operations])
        return _json(answer.mutated(review, operations))

    def _judged(self, request: KnownRequest, review: Review) -> Judgement | None:
        """The judgement. If a refusal may come from a cache that is too old, judge again when the cache changes."""
        forest, above = self._forest(), self._related(request, review)
        if request.case is None:
            review = replace(review, user=releaser(review, self._configuration, self._may(request)))
            request.case = decision.case(review, self._configuration, self._cache().snapshot())
        case = request.case
        if case is None:
            return None
        judge = request.timed("judge", case.judged)
        if case.ordered and self._order is not None:
            _wait(request)
            found = request.timed("ledger", self._order.decide)(case.change, judge, case.entry())
            if found.verdict.allowed and not review.dry_run and request.gone():
                self._order.abandon(review.uid)
                raise LedgerBusy("the request was given up while it was judged")
            return found
        found = judge(forest.put_all(above))
        if unseen := self._unseen(request, found, forest):
            above += unseen
            found = judge(forest.put_all(above))
        if not decision.may_be_stale(found.verdict) or not self._patience:
            return found
        _wait(request)
        if self._waiting.acquire(blocking=False):
            try:
                deadline = time.monotonic() + self._patience
                while decision.may_be_stale(found.verdict) and (news := self._news(forest, deadline)):
                    forest = news
                    found = judge(forest.put_all(above))
            finally:
                self._waiting.release()
        return found

    def _unseen(self, request: KnownRequest, found: Judgement, forest: Forest) -> list[KubeObject]:
        """The objects that warnings call missing, but that the API server has. Reads only those."""
        missed = decision.missed(found.verdict, forest)
        if not missed:
            return []
        _wait(request)
        if not self._waiting.acquire(blocking=False):
            return []
        try:
            looked = [self._cache().look(ref) for ref in missed]
        except ClusterError as error:
            log.warning("%s cannot be read: %s", missed[0], error, extra={"fields": request.followed()})
            return []
        finally:
            self._waiting.release()
        return [each.kept for each in looked if each is not None and isinstance(each.kept, KubeObject)]

    def _news(self, forest: Forest, deadline: float) -> Forest | None:
        """Wait for another forest than this one. None if there is none before the deadline."""
        while time.monotonic() < deadline:
            if (newest := self._forest()) is not forest:
                return newest
            time.sleep(_POLL_INTERVAL)
        return None

    def _owners(self, request: KnownRequest, review: Review, forest: Forest) -> list[QueuedJob]:
        return owners(review, self._configuration, self._fetch(request, review), forest)

    def _fetch(self, request: KnownRequest, review: Review) -> Fetch:
        def fetch(resource: Resource, namespace: str, name: str) -> Manifest | None:
            _wait(request)
            late = time.perf_counter() - request.started > _OWNERS_SECONDS
            if late and review.operation is ChangeOperation.CREATE:  # owners may be large, and a tenant may add more
                raise OwnerMissing("its owners take too long to read; try again, or name fewer owners")
            return self._cache().fetch(resource, namespace, name)

        return fetch

    def _may(self, request: KnownRequest) -> May:
        def may(caller: Caller, access: Access) -> bool:
            _wait(request)
            return self._cache().may(caller, access)

        return may

    def _related(self, request: KnownRequest, review: Review) -> list[KubeObject]:
        """The objects that rules need and the cache does not have: owners, and the Workload that a job names."""
        above = self._owners(request, review, Forest())
        return [*above, *named_workload(review, self._configuration, self._fetch(request, review))]

    def _forest(self) -> Forest:
        cache = self._cache()
        if lacks := cache.ready():
            raise _NotReady("; ".join(lacks))
        return cache.forest()

    def _decided(self, request: KnownRequest, review: Review, outcome: str, **more: list[str]) -> None:
        """Log the decision. Of requests without findings, only a sample is logged."""
        request.outcome = outcome
        if request.trace is not None:
            request.trace.rules = more.get("rules", [])
        if outcome == "allowed" and not any(more.values()) and next(self._quiet) % self._log_one_in:
            return
        named = joined(review.namespace, review.name)
        fields = {
            **request.followed(),
            "endpoint": request.path,
            "operation": review.operation,
            "object": f"{review.kind.kind} {named}",
            "user": review.user.name,
            "dry_run": review.dry_run,
            "verdict": outcome,
            **{key: value for key, value in more.items() if value},
            "milliseconds": round((time.perf_counter() - request.started) * 1000, 3),
        }
        log.info("decision", extra={"fields": fields})


def text(message: str, status: HTTPStatus) -> Reply:
    return Reply(status, TEXT, f"{plain(message)}\n".encode())


def fault(path: str, error: Exception, followed: Mapping[str, str] | None = None) -> Reply:
    """Log an exception with its traceback, and return the reply for it. `followed`: fields of the log line."""
    log.error("internal error in %s", path, exc_info=error, extra={"fields": followed or {}})
    what = f"{error}: internal error" if isinstance(error, decision.RuleFailed) else "internal error"
    return text(f"{what}; the log of the webhook has the traceback", HTTPStatus.INTERNAL_SERVER_ERROR)


def _json(body: bytes) -> Reply:
    return Reply(HTTPStatus.OK, JSON, body)


def _wait(request: KnownRequest) -> None:
    if not request.waits:
        raise MustWait(request)
