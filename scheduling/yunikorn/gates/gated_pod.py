"""A Pod that waits at our gate or has passed it: the little that decisions go by."""

from __future__ import annotations

from dataclasses import dataclass, replace

from policies.dialects import core, yunikorn
from policies.dialects.priority_class import ALLOW_PREEMPTION
from policies.dialects.quota_gates import ADMITTED, MARK, WAITS, mark_of
from policies.dialects.reading import Manifest, mapping, metadata, text, texts
from policies.dialects.yunikorn_gangs import TASK_GROUPS, task_group
from policies.dialects.yunikorn_gates import MARKED
from policies.dialects.yunikorn_pods import requests
from scheduling.objects import times
from scheduling.yunikorn.application import Ask

Whose = tuple[str, str, tuple[str, ...]]
"""The queue that a Pod asks for, empty for none, and its user with groups."""


@dataclass(frozen=True, slots=True)
class YuniKornGatedPod:
    """`application` is `namespace/id`: nobody uses up the quota of another namespace by its id. `gang` is the
    annotation that names task groups. `admitted` is the queue in which it counts, `waits` what it says of why it waits.
    `mark` is the project for whose quota it is marked; only such Pods are ever preempted.
    """

    uid: str
    namespace: str
    application: str
    whose: Whose
    ask: Ask
    gang: str = ""
    marked: bool = False
    gates: tuple[str, ...] = ()
    admitted: str = ""
    waits: str = ""
    finished: bool = False
    leaving: bool = False
    mark: str = ""

    @property
    def key(self) -> str:
        return self.ask.key

    @property
    def gated(self) -> bool:
        return MARK in self.gates

    def counts_as(self, other: YuniKornGatedPod) -> bool:
        """Whether nothing that is counted differs."""
        return replace(self, gates=(), admitted="", waits="") == replace(other, gates=(), admitted="", waits="")


def read_gated_pod(manifest: Manifest) -> YuniKornGatedPod:
    meta, spec = metadata(manifest), mapping(manifest.get("spec"))
    notes, uid = texts(meta.get("annotations")), text(meta.get("uid")) or ""
    pod = replace(core.read_pod(manifest), scheduler_name=yunikorn.SCHEDULER)
    mark, leaving = mark_of(manifest), bool(meta.get("deletionTimestamp"))
    namespace, priority = pod.ref.namespace, spec.get("priority")
    user, groups = yunikorn.user_of(pod)
    ask = Ask(
        f"{namespace}/{pod.ref.name}",
        requests(manifest),
        priority if isinstance(priority, int) else 0,
        times.parse(meta.get("creationTimestamp")),
        task_group(notes),
        optional=notes.get(ALLOW_PREEMPTION) != "false",
        pinned=mark != MARKED or leaving,
    )
    return YuniKornGatedPod(
        uid,
        namespace,
        f"{namespace}/{yunikorn.application_id(pod, uid=uid)}",
        (yunikorn.queue_of(pod) or "", user, tuple(groups or ())),
        ask,
        notes.get(TASK_GROUPS, ""),
        mark == MARKED,
        pod.gates,
        notes.get(ADMITTED, ""),
        notes.get(WAITS, ""),
        mapping(manifest.get("status")).get("phase") in ("Succeeded", "Failed"),
        leaving,
        mark,
    )
