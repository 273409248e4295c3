"""The slices of an elastic job: which one represents the job, which one waits to replace it, and their writes.

The slice with quota represents the job. When the job grows, a larger slice is created, which takes over once it has
quota. When the job shrinks, its slice shrinks. At most one slice waits.
Source: Kueue v0.19, pkg/workloadslicing; KEP-77.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from cluster.actions import Create
from policies.dialects.kueue_kinds import WORKLOAD_PRIORITY_CLASS
from policies.dialects.kueue_workload import REPLACES, SLICE_CHAIN
from policies.dialects.reading import Manifest, mapping
from reconciler.jobs.composed import class_message, class_update, gets_class
from reconciler.jobs.elastic import chain_of, pod_counts, with_counts
from reconciler.jobs.pod_changes import with_annotations
from reconciler.jobs.step import JobStep
from reconciler.objects.patches import JOB_MANAGER, WORKLOADS, condition_manager, patch, status_patch
from scheduling.objects.workload import FINISHED, OUT_OF_SYNC, SLICE_REPLACED, Workload
from scheduling.status.progress import finish

_NONE: Mapping[str, int] = MappingProxyType({})
_SURPLUS = "The workload slice is out of sync with its parent job"


@dataclass(frozen=True, slots=True)
class Chain:
    """The slices of one job.

    `holder`: the slice that represents the job.
    `pending`: the slice that waits to replace it.
    `surplus`: the slices that are not needed any more.
    """

    holder: Workload | None = None
    pending: Workload | None = None
    surplus: tuple[Workload, ...] = ()


def chain(slices: Iterable[Workload]) -> Chain:
    """Find the role of each slice of one job, in whatever state a crash may have left them.

    If the slice that represents the job is evicted, no other slice waits: the others are surplus.
    """
    ordered = sorted(slices, key=lambda each: (each.created, each.key))
    live = [each for each in ordered if not each.finished]
    held = [each for each in live if each.reserved]
    replaced = [each for each in held if any(other.takes_over_from(each) for other in held)]
    heads = [each for each in held if each not in replaced]
    if heads:
        holder = heads[-1]
        may_wait = not (holder.evicted or holder.deleting)
        waiting = [each for each in live if may_wait and not each.reserved and each.takes_over_from(holder)]
        kept = (holder, *waiting[:1], *replaced)
        return Chain(holder, next(iter(waiting), None), tuple(each for each in live if each not in kept))
    if live:
        first = next((each for each in live if not any(map(each.takes_over_from, live))), live[0])
        return Chain(first, None, tuple(each for each in live if each is not first))
    return Chain(_last(ordered))


def _last(finished: list[Workload]) -> Workload | None:
    """The last slice that finished with its job; None if all slices were replaced or out of sync."""
    own = [each for each in finished if each.conditions[FINISHED].reason not in (SLICE_REPLACED, OUT_OF_SYNC)]
    return own[-1] if own else None


def steps(
    found: Chain,
    asked: Mapping[str, Any] | None,
    stored: Callable[[str], Manifest | None],
    suspended: bool,
    now: int,
    bound: Mapping[str, int] = _NONE,
) -> Iterator[tuple[str, JobStep]]:
    """The writes for each slice (`namespace/name`).

    `asked`: the Workload that the job requests now.
    `stored`: returns the manifest of a stored slice.
    `suspended`: whether the job is suspended, and so needs no larger slice.
    `bound`: the number of Pods on nodes, by pod set. If the job shrinks, its slice keeps quota for them until they end.
    """
    for each in found.surplus:
        yield from _given_up(each, now)
    holder = found.holder
    manifest = stored(holder.key) if holder is not None else None
    if holder is None or manifest is None or asked is None or holder.finished or holder.evicted or holder.deleting:
        return
    have, want = pod_counts(manifest), pod_counts(asked)
    if have.keys() != want.keys():
        return
    if not holder.reserved:
        if have != want and not suspended:
            yield _resize(holder, manifest, want)
        return
    want = {name: max(count, min(have[name], bound.get(name, 0))) for name, count in want.items()}
    if all(want[name] <= have[name] for name in have):
        yield from _given_up(found.pending, now) if found.pending is not None else ()
        if want != have:
            yield _resize(holder, manifest, want)
    elif not suspended:
        yield from _larger(found, holder, manifest, asked, want, stored)


def _larger(
    found: Chain,
    holder: Workload,
    manifest: Manifest,
    asked: Mapping[str, Any],
    want: Mapping[str, int],
    stored: Callable[[str], Manifest | None],
) -> Iterator[tuple[str, JobStep]]:
    """Create a larger slice with the same pods, or change the size or the priority class of the slice that waits.

    Its pods name the first slice, like the pods that run.
    """
    if found.pending is None:
        meta = asked["metadata"]
        named = {SLICE_CHAIN: chain_of(holder)}
        notes = {**meta.get("annotations", {}), REPLACES: holder.key, **named}
        pod_sets = [
            {**each, "template": with_annotations(each["template"], named)} for each in with_counts(manifest, want)
        ]
        spec = {**asked["spec"], "queueName": holder.queue, "podSets": pod_sets}
        made = {**asked, "metadata": {**meta, "annotations": notes}, "spec": spec}
        key = f"{meta['namespace']}/{meta['name']}"
        yield key, JobStep(Create(WORKLOADS, made, JOB_MANAGER), "CreatedWorkload", f"Created Workload: {key}")
        return
    pending = found.pending
    waiting = stored(pending.key)
    if waiting is None or pending.deleting:
        return
    if pod_counts(waiting) != want:
        yield _resize(pending, waiting, want)
    elif gets_class(pending, _class_of(asked)):
        action = patch(pending, class_update(asked), JOB_MANAGER)
        yield pending.key, JobStep(action, "UpdatedWorkload", class_message(pending))


def _class_of(asked: Mapping[str, Any]) -> str:
    """The WorkloadPriorityClass that the job names."""
    ref = mapping(asked["spec"].get("priorityClassRef"))
    return str(ref["name"]) if ref.get("kind") == WORKLOAD_PRIORITY_CLASS.kind else ""


def _resize(read: Workload, manifest: Manifest, counts: Mapping[str, int]) -> tuple[str, JobStep]:
    body = {"spec": {"podSets": with_counts(manifest, counts)}}
    message = f"Updated the number of pods of the Workload: {read.key}"
    return read.key, JobStep(patch(read, body, JOB_MANAGER), "UpdatedWorkload", message)


def _given_up(read: Workload, now: int) -> Iterator[tuple[str, JobStep]]:
    action = status_patch(read, finish(read, OUT_OF_SYNC, _SURPLUS, now), condition_manager(FINISHED))
    if action is not None:
        yield read.key, JobStep(action)
