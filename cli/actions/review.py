"""Answers a recorded AdmissionReview with the webhook's code, and prints the response."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from json import dumps, loads
from typing import Any

from analysis.context import Context
from analysis.documents import Document, Unreadable
from cli.exits import Exit, Misused, OutOfReach, strongest
from cli.input.against import Against
from cli.input.context import load
from cli.input.documents import read
from cli.output import emit, json_text, note, paint
from cli.report.reports import COLOURS
from cluster.errors import ClusterError, NotFound
from cluster.resource import Manifest, Resource
from policies.configuration.settings import Configuration
from policies.judge import StateBefore, stored_state
from policies.judging.sentence import sentence
from policies.model.objects import joined
from policies.model.printing import plain
from policies.text import json_values
from policies.text.positions import DocumentRoot
from webhook.bounds import crowded
from webhook.owners import OwnerUnknown
from webhook.replay import Replay, replay, served
from webhook.review import BadReview, Review, parse
from webhook.settings import WebhookSettings

_MOST = WebhookSettings().body_limit


def answer(file: str, against: Against, configuration: Configuration, *, mutating: bool, json: bool) -> Exit:
    """Print the response to the review in `file`, as JSON or as text. Raises OutOfReach."""
    try:
        asked, much = recorded(file)
    except BadRecording as bad:
        for failure in bad.failures:
            note(str(failure))
        return Exit.UNREADABLE
    if not served(asked, configuration, mutating=mutating):
        which = "mutating" if mutating else "validating"
        note(f"the {which} webhook does not judge {asked.kind.kind} of group {asked.kind.group!r}")
        return Exit.UNREADABLE
    context = load(against, configuration)
    for item in context.unreadable:
        note(str(item))
    answered = _answer(asked, much, against, context, configuration, mutating)
    review = loads(answered.body)
    emit(json_text(review) if json else words(asked, against, answered))
    allowed = review["response"]["allowed"]
    codes = [Exit.UNREADABLE] if context.unreadable else []
    return strongest([*codes, Exit.CLEAN if allowed else Exit.FINDINGS])


def _answer(
    asked: Review, much: str, against: Against, context: Context, configuration: Configuration, mutating: bool
) -> Replay:
    world = context.world
    if against.kind == "files":  # objects of a cluster are in their stored state already
        world = stored_state(StateBefore(world, context.manifests), configuration).world

    with ExitStack() as stack:

        def fetch(resource: Resource, namespace: str, name: str) -> Manifest | None:
            """The owner of a job or Pod. Files have no owners: only a cluster can prove one, by its UID."""
            if against.kind != "cluster":
                return None
            cluster = stack.enter_context(against.login.connect())
            try:
                return cluster.get(resource.item(name, namespace))
            except NotFound:
                return None

        try:
            return replay(asked, much, world, configuration, fetch, mutating=mutating)
        except (ClusterError, OwnerUnknown) as error:
            raise OutOfReach(str(error)) from error


def words(review: Review, against: Against, replayed: Replay) -> str:
    """The request and the context, every finding, the patch, and the outcome."""
    return "\n".join([_head(review, against), *_findings(replayed), *_patch(replayed), _outcome(replayed)])


def _head(review: Review, against: Against) -> str:
    name = joined(review.namespace, review.name)
    what = f"{review.operation} {review.kind.kind} {name}".rstrip()
    part = f", subresource {review.subresource}" if review.subresource else ""
    who = f" by {review.user.name}" if review.user.name else ""
    dry = " (dry run)" if review.dry_run else ""
    return plain(f"judged against {against}: {what}{part}{who}{dry}")


def _findings(replayed: Replay) -> Iterator[str]:
    for judged in replayed.verdict.findings:
        yield f"{paint(judged.severity.value, COLOURS[judged.severity])}[{judged.rule.id}]: {sentence(judged)}"
    for missed in replayed.verdict.not_evaluated:
        yield plain(f"not evaluated[{missed.rule.id}]: {missed.reason}")


def _patch(replayed: Replay) -> Iterator[str]:
    for operation in replayed.operations:
        value = f" = {dumps(operation['value'], default=float)}" if "value" in operation else ""
        yield plain(f"patch: {operation['op']} {operation['path']}{value}")


def _outcome(replayed: Replay) -> str:
    response: dict[str, Any] = loads(replayed.body)["response"]
    if response["allowed"]:
        return "allowed" + (", with a patch" if replayed.operations else "")
    status = response["status"]
    by_rule = bool(replayed.verdict.findings)
    return f"denied: {status['code']} {status['reason']}" + ("" if by_rule else f": {plain(status['message'])}")


class BadRecording(Exception):
    """The file has no AdmissionReview that the webhook accepts. `failures`: the places and reasons."""

    def __init__(self, failures: list[Unreadable]) -> None:
        super().__init__(*map(str, failures))
        self.failures = failures


def recorded(file: str) -> tuple[Review, str]:
    """The review, and why it is too large for the webhook, or an empty text. Raises BadRecording and Misused."""
    documents, unreadable = read([file], sys.stdin)
    if unreadable:
        raise BadRecording(unreadable)
    if len(documents) != 1:
        raise Misused(f"{file}: an AdmissionReview is one document, but there are {len(documents)}; keep one of them")
    document = documents[0]
    body = _body(document)
    if len(body) > _MOST:
        message = f"the review has {len(body)} bytes, and the webhook reads {_MOST} at most"
        raise BadRecording([Unreadable(document.place(), message)])
    try:
        review = parse(body)
    except BadReview as bad:
        raise BadRecording([Unreadable(document.place(bad.field), f"{bad}{_cure(document)}")]) from None
    return review, crowded(review.object, len(body))


def _body(document: Document) -> bytes:
    """The body of the request: JSON without changes, or YAML as JSON with numbers as the API server stores them."""
    text = document.region.outline.text
    if isinstance(json_values.read(text), DocumentRoot):
        return text.encode()
    return dumps(document.manifest, default=float).encode()


def _cure(document: Document) -> str:
    """The hint for a manifest, which users often pass by mistake; empty for other content."""
    if document.manifest.get("kind") == "AdmissionReview":
        return ""
    return "; for a manifest use `quotree validate`"
