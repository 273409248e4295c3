from __future__ import annotations

from collections.abc import Iterator, Mapping

from policies import fields
from policies.dialects.core import POD, Pod
from policies.dialects.kueue_jobs import BATCH_JOB, QueuedJob
from policies.dialects.kueue_kinds import PREFIX
from policies.dialects.kueue_workload import ELASTIC
from policies.dialects.labels import is_qualified_name
from policies.proposal import Proposal
from policies.rule import Finding, rule

_LEVELS = tuple(f"{PREFIX}podset-{how}-topology" for how in ("required", "preferred", "unconstrained"))
_SLICE_LEVEL = f"{PREFIX}podset-slice-required-topology"
_SLICE_SIZE = f"{PREFIX}podset-slice-size"
_GROUP = f"{PREFIX}podset-group-name"


@rule("topology-annotation-invalid", source="Kueue: webhooks of Job and Pod", kinds=(BATCH_JOB, POD), alone=True)
def topology_annotation_invalid(proposal: Proposal) -> Iterator[Finding]:
    """The pods of a job ask for a place in the topology in two ways, or in none that exists.

    Why it is refused: pods can be required or preferred to lie together, or may lie anywhere. Two of these at once
    contradict each other; a level that is no label of nodes, or slices without a size, fit nowhere.
    Example: `podset-required-topology: rack` beside `podset-preferred-topology: block`.
    Fix: keep one of the three; write the node label of the level; give slices both a level and a size.
    """
    if not proposal.configuration.kueue.enabled("TopologyAwareScheduling"):
        return
    slicing = proposal.configuration.kueue.enabled("ElasticJobsViaWorkloadSlices")
    for _, job in proposal.changed(QueuedJob):
        pods = 1 if job.parallelism is None else job.parallelism
        yield from _findings(job, "spec.template.metadata.annotations", job.pods, pods)
        if slicing and job.annotations.get(ELASTIC) == "true":
            yield from _elastic(job)
    for _, pod in proposal.changed(Pod):
        yield from _findings(pod, "metadata.annotations", pod.annotations, None)


def _elastic(job: QueuedJob) -> Iterator[Finding]:
    for key in _LEVELS[:2]:
        if key in job.pods:
            field = fields.join("spec.template.metadata.annotations", key)
            message = "an elastic job changes its size, so its pods cannot be held together"
            yield Finding(job.ref, field, message, fix="let the pods lie anywhere", subject=f"elastic {key}")


def _findings(thing: QueuedJob | Pod, base: str, notes: Mapping[str, str], pods: int | None) -> Iterator[Finding]:
    for key, message, fix in (*_levels(notes), *_slices(notes, pods)):
        yield Finding(thing.ref, fields.join(base, key), message, fix=fix, subject=key)


def _levels(notes: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """(annotation, message, fix) of what is wrong with the place asked for."""
    asked = [key for key in _LEVELS if key in notes]
    if len(asked) > 1:
        names = " and ".join(key.removeprefix(PREFIX) for key in asked)
        yield asked[0], f"{names} contradict each other", "keep one of them"
    for key in (*_LEVELS[:2], _SLICE_LEVEL):
        if key in notes and not is_qualified_name(notes[key]):
            yield key, f"{notes[key][:80]!r} is no label of nodes", "write the node label of a level of the topology"
    if _LEVELS[2] in notes and notes[_LEVELS[2]].lower() not in ("true", "false", "t", "f", "1", "0"):
        yield _LEVELS[2], f"{notes[_LEVELS[2]][:40]!r} is neither true nor false", "write true or false"
    if notes.get(_GROUP, "").isdecimal():
        yield _GROUP, f"{notes[_GROUP][:40]} is a number, which pod sets are told apart by", "write a name with letters"
    if _GROUP in notes and not any(key in notes for key in _LEVELS[:2]):
        yield _GROUP, "a group of pod sets needs a required or a preferred topology", "write one of the two"


def _slices(notes: Mapping[str, str], pods: int | None) -> Iterator[tuple[str, str, str]]:
    level, size = notes.get(_SLICE_LEVEL), notes.get(_SLICE_SIZE)
    if size is None:
        if level is not None:
            yield _SLICE_SIZE, f"slices within {level[:80]} need a size", "write how many pods make a slice"
        return
    if level is None:
        yield _SLICE_SIZE, f"a size of {size[:40]} without podset-slice-required-topology", "write the level of a slice"
    whole = size.isdecimal() and size.isascii() and int(size[:12]) > 0
    if not whole:
        yield _SLICE_SIZE, f"{size[:40]!r} is no whole number above 0", "write how many pods make a slice"
    elif pods is not None and int(size[:12]) > pods:
        yield _SLICE_SIZE, f"slices of {size[:12]} pods, and there are {pods}", f"write {pods} or less"
