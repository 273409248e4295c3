"""Renders the response to an AdmissionReview as text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from cli.input.against import Against
from cli.output import paint
from cli.report.reports import COLOURS
from policies.judging.sentence import sentence
from policies.model.objects import joined
from policies.model.printing import plain
from webhook.replay import Replay
from webhook.review import Review


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
        value = f" = {json.dumps(operation['value'], default=float)}" if "value" in operation else ""
        yield plain(f"patch: {operation['op']} {operation['path']}{value}")


def _outcome(replayed: Replay) -> str:
    response: dict[str, Any] = json.loads(replayed.body)["response"]
    if response["allowed"]:
        return "allowed" + (", with a patch" if replayed.operations else "")
    status = response["status"]
    by_rule = bool(replayed.verdict.findings)
    return f"denied: {status['code']} {status['reason']}" + ("" if by_rule else f": {plain(status['message'])}")
