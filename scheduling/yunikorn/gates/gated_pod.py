"""A Pod that waits at our gate or has passed it: the part that decisions need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from policies.dialects import core, yunikorn
from policies.dialects.pod_reading import PodReading, pod_reading
from policies.dialects.priority_class import ALLOW_PREEMPTION, lets_preempt
from policies.dialects.quota_gates import ADMITTED, QUOTA_KEY, WAITS
from policies.dialects.reading import Manifest, text
from policies.dialects.yunikorn_config.model import ROOT
from policies.dialects.yunikorn_config.placement import MOST_LEVELS
from policies.dialects.yunikorn_gangs import POLICY, TASK_GROUPS, task_group
from policies.dialects.yunikorn_gates import YUNIKORN
from policies.dialects.yunikorn_pods import requests
from scheduling.objects import times
from scheduling.queue_tree.pod_at_gate import PodAtGate
from scheduling.yunikorn.application import Ask

QueueAndUser = tuple[str, str, tuple[str, ...]]
"""The queue that a Pod requests, empty if it requests none, and its user with groups."""


@dataclass(frozen=True, slots=True)
class YuniKornGatedPod(PodAtGate):
    """A Pod of YuniKorn's queues. It can be preempted only if it is marked for YuniKorn's quota.

    application: `namespace/id`, so that Pods cannot use the quota of another namespace by using its application id.
    queue_and_user: the requested queue, and the user with groups.
    gang: the annotation with the task groups. policy: the annotation with the timeout of their placeholders.
    priority_class: its PriorityClass, if that decides whether the Pod may be preempted; empty if an annotation does.
    """

    PROJECT = YUNIKORN

    application: str
    queue_and_user: QueueAndUser
    ask: Ask
    gang: str = ""
    policy: str = ""
    priority_class: str = ""

    @property
    def has_passed(self) -> bool:
        """Whether it has no gate any more and is marked, or has a node although it never had the gate."""
        return not self.gated and (self.marked or self.bound)

    def counts_as(self, other: YuniKornGatedPod) -> bool:
        """Whether both Pods count the same, apart from whether they wait."""
        counted, others = (
            (p.uid, p.application, p.queue_and_user, p.ask, p.gang, p.policy, p.project, p.ended, p.deleting)
            for p in (self, other)
        )
        return counted == others


def read_gated_pod(manifest: Manifest) -> YuniKornGatedPod:
    return gated_pod(pod_reading(manifest))


def gated_pod(pod: PodReading) -> YuniKornGatedPod:
    notes, project, priority = pod.annotations, pod.labels.get(QUOTA_KEY, ""), pod.spec.get("priority")
    known = replace(core.read_pod(pod.manifest), scheduler_name=yunikorn.SCHEDULER)
    user, groups = yunikorn.user_of(known)
    namespace, key = pod.namespace, pod.key
    ask = Ask(
        key,
        requests(pod.manifest),
        priority if isinstance(priority, int) else 0,
        times.parse(pod.created),
        task_group(notes),
        optional=notes.get(ALLOW_PREEMPTION) != "false",
        pinned=project != YUNIKORN or pod.deleting,
        preempts=lets_preempt(pod.spec),
    )
    decided = notes.get(ALLOW_PREEMPTION) in ("true", "false")
    return YuniKornGatedPod(
        f"{namespace}/{yunikorn.application_id(known, uid=pod.uid)}",
        (known.yunikorn_queue or "", user, tuple(groups or ())),
        ask,
        notes.get(TASK_GROUPS, ""),
        notes.get(POLICY, ""),
        "" if decided else text(pod.spec.get("priorityClassName")) or "",
        key=key,
        project=project,
        admitted=_recorded(notes) if project == YUNIKORN else "",
        waits=notes.get(WAITS, ""),
        **pod.life,
    )


def _recorded(notes: Mapping[str, str]) -> str:
    """The queue where the Pod was admitted; empty if no placement rule can have chosen it, as anyone may write it."""
    path = notes.get(ADMITTED, "")
    return path if path.lower().startswith(f"{ROOT}.") and path.count(".") < MOST_LEVELS else ""
