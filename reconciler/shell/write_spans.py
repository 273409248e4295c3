"""Tracing spans of writes: from the core's command until the loop processes the response."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import NamedTuple

from cluster.actions import Action, Apply, Create, Delete, Evict, Patch
from cluster.tracing.span import Attribute, Parent, SpanContext, SpanRecorder, TraceSpan
from policies.dialects.kueue_jobs import PREBUILT
from policies.dialects.reading import metadata, texts
from reconciler.core.records import WORKLOAD, Records
from reconciler.objects.following import admission
from reconciler.objects.observed import Key
from reconciler.objects.outcomes import Failed, Written
from reconciler.objects.workers import FromWorker

_VERBS: dict[type, str] = {Create: "create", Patch: "patch", Apply: "patch", Delete: "delete", Evict: "evict"}
_MOST = 10_000
"""The maximum number of open spans. Responses from a dropped worker never arrive, so their spans stay open."""
_LONGEST = 200
"""The maximum number of characters of an error."""


class _UnderWay(NamedTuple):
    """A write that has no response yet: its parent span, when it was sent, and the action."""

    parent: SpanContext
    began: int
    action: Action


class WriteSpans:
    """The open spans of writes.

    `records`: the records of the core, to find the Workload of a write.
    `clock`: returns nanoseconds.
    """

    def __init__(self, records: Records, recorder: SpanRecorder, clock: Callable[[], int] = time.time_ns) -> None:
        self._records = records
        self._recorder = recorder
        self._clock = clock
        self._under_way: dict[tuple[str, Key], _UnderWay] = {}

    def sent(self, key: Key, action: Action, cluster: str = "") -> None:
        """Open the span of a write that belongs to a Workload. `cluster`: the worker cluster; empty for this one."""
        parent = self._parent(key, action)
        if parent is not None:
            if len(self._under_way) >= _MOST:
                self._under_way.clear()
            self._under_way[cluster, key] = _UnderWay(parent, self._clock(), action)

    def answered(self, message: object) -> None:
        """End the span of a write if this message to the core is its result."""
        match message:
            case Written() | Failed():
                self._end("", message)
            case FromWorker(cluster=cluster, news=(Written() | Failed()) as outcome):
                self._end(cluster, outcome)

    def _end(self, cluster: str, outcome: Written | Failed) -> None:
        found = self._under_way.pop((cluster, outcome.key), None)
        if found is None:
            return
        error = outcome.error if isinstance(outcome, Failed) else None
        context = SpanContext(found.parent.trace, secrets.token_hex(8))
        attributes = _about(outcome.key, found.action, cluster)
        attributes["quotree.outcome"] = type(error).__name__ if error is not None else "stored"
        failed = str(error)[:_LONGEST] if error is not None else ""
        self._recorder.record(
            TraceSpan(
                "written", context, found.began, self._clock(), attributes, Parent(found.parent.span), failed=failed
            )
        )

    def _parent(self, key: Key, action: Action) -> SpanContext | None:
        stored = self._records.workload(self._name(key, action))
        return admission(stored.value) if stored is not None else None

    def _name(self, key: Key, action: Action) -> str:
        """The key of the Workload that is written, or that the written job or Pod belongs to; empty if there is none.

        A new copy of a job on a worker cluster names its Workload in a label or an annotation.
        """
        if key[0] == WORKLOAD:
            return key[1]
        record = self._records.find(key)
        wanted = record.in_flight.wanted if record is not None and record.in_flight is not None else None
        if wanted is not None and wanted.workload:
            return wanted.workload
        meta = metadata(action.body) if isinstance(action, Create) else {}
        named = texts(meta.get("labels")).get(PREBUILT) or texts(meta.get("annotations")).get(PREBUILT)
        return f"{meta.get('namespace')}/{named}" if named else ""


def _about(key: Key, action: Action, cluster: str) -> dict[str, Attribute]:
    found: dict[str, Attribute] = {
        "quotree.object": f"{key[0]} {key[1]}",
        "quotree.verb": _VERBS.get(type(action), "write"),
    }
    if isinstance(action, Patch) and action.subresource:
        found["quotree.subresource"] = action.subresource
    if cluster:
        found["quotree.cluster"] = cluster
    return found
