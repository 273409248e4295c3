from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from policies.configuration.settings import Configuration, Enforce
from policies.dialects import volcano_gates, yunikorn_gates
from policies.dialects.core import POD, VOLCANO_SCHEDULER, Pod
from policies.dialects.quota_gates import QUOTA_KEY
from policies.judging.rule import Proposal, rule
from policies.model import fields
from policies.model.findings import STRICT_ONLY, Finding
from policies.rules._pod_templates import grown


class _Counted(NamedTuple):
    """The labels and annotations by which Pods are counted. `while_gated`: annotations that count for gated Pods."""

    labels: tuple[str, ...]
    annotations: tuple[str, ...]
    while_gated: tuple[str, ...]


_FIX = "leave the pod as it is, or delete the pod if it is not wanted"
_FIX_LATE = "create a new pod that names its PodGroup"


@rule("gated-pod-evaded", source="Quotree: pods run only with quota", kinds=(POD,))
def gated_pod_evaded(proposal: Proposal) -> Iterator[Finding]:
    """A Pod under the quota of YuniKorn or Volcano loses its gate, a label or an annotation.

    Why it is refused: the scheduling gate keeps the Pod from starting until it is admitted. Labels and annotations
    decide for which application or PodGroup and in which queue the Pod counts. If they change or are added later, the
    Pod uses quota that was not reserved for it. There is one exception: Volcano's controller may set the PodGroup of a
    Pod of Volcano's scheduler before the Pod has a node. A Pod may be resized to less, but not to more. Only the users
    under `kueue.admittingUsers` may make these changes. The rule applies with `yunikorn.enforce: gates` and
    `volcano.enforce: gates`.
    Example: `kubectl patch pod train-0 --type=merge -p '{"spec":{"schedulingGates":null}}'`.
    Fix: leave the Pod as it is until it is admitted, or delete it.
    """
    configuration = proposal.configuration
    projects = _enforced(configuration)
    if not projects or proposal.circumstances.user.name in configuration.kueue.admitting_users:
        return
    for before, pod in proposal.changed(Pod):
        if before is None:
            continue
        if before.labels.get(QUOTA_KEY) in projects or QUOTA_KEY in before.gates:
            counted = _counted(before, projects, waits=QUOTA_KEY in pod.gates)
            yield from _loosened(before, pod, *counted)
            yield from grown(before, pod)
            continue
        if pod.labels.get(QUOTA_KEY) in projects:
            yield from _changed(before, pod, "labels", (QUOTA_KEY,))
        if volcano_gates.VOLCANO in projects and not _may_get_its_group(before):
            yield from _changed(before, pod, "annotations", volcano_gates.GROUP_NAMES, _FIX_LATE)


def _enforced(configuration: Configuration) -> Mapping[str, _Counted]:
    """The labels and annotations by which Pods are counted, for each project with `enforce: gates`."""
    yunikorn = _Counted(yunikorn_gates.LABELS, yunikorn_gates.ANNOTATIONS, yunikorn_gates.WHILE_GATED)
    volcano = _Counted(volcano_gates.LABELS, volcano_gates.ANNOTATIONS, volcano_gates.WHILE_GATED)
    found = {}
    if configuration.yunikorn.enforce is Enforce.GATES:
        found[yunikorn_gates.YUNIKORN] = yunikorn
    if configuration.volcano.enforce is Enforce.GATES:
        found[volcano_gates.VOLCANO] = volcano
    return found


def _counted(pod: Pod, projects: Mapping[str, _Counted], *, waits: bool) -> tuple[Iterable[str], Iterable[str]]:
    """The labels and annotations that decide where the Pod counts; without a project's label, those of all projects."""
    project = pod.labels.get(QUOTA_KEY)
    mine = [each for name, each in projects.items() if project not in projects or name == project]
    labels = dict.fromkeys(label for each in mine for label in each.labels)
    annotations = (each.while_gated if waits else each.annotations for each in mine)
    return labels, dict.fromkeys(note for each in annotations for note in each)


def _loosened(before: Pod, pod: Pod, labels: Iterable[str], annotations: Iterable[str]) -> Iterator[Finding]:
    if QUOTA_KEY in before.gates and QUOTA_KEY not in pod.gates:
        message = f"only the controller that admits the pod may remove the scheduling gate {QUOTA_KEY}"
        yield Finding(pod.ref, "spec.schedulingGates", message, fix=_FIX, subject=QUOTA_KEY, profiles=STRICT_ONLY)
    yield from _changed(before, pod, "labels", labels)
    yield from _changed(before, pod, "annotations", annotations)


def _changed(before: Pod, pod: Pod, part: str, keys: Iterable[str], fix: str = _FIX) -> Iterator[Finding]:
    had, has = (each.labels if part == "labels" else each.annotations for each in (before, pod))
    for key in keys:
        if had.get(key) != has.get(key):
            message = f"the {part[:-1]} {key} decides where the pod counts, and cannot be changed"
            field = fields.join(f"metadata.{part}", key)
            yield Finding(pod.ref, field, message, fix=fix, subject=f"{part} {key}", profiles=STRICT_ONLY)


def _may_get_its_group(pod: Pod) -> bool:
    """Whether the PodGroup may still be set: Volcano's controller does this for a single Pod after it was created."""
    named = any(pod.annotations.get(key) for key in volcano_gates.GROUP_NAMES)
    return pod.scheduler_name == VOLCANO_SCHEDULER and not pod.bound and not named
