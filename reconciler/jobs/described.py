"""Kinds of jobs that a description defines completely. One write starts such a job, and one or two stop it.

Source: Kueue v0.19, pkg/controller/jobframework, and the kinds in pkg/controller/jobs.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from functools import partial
from typing import Any, Self

from cluster.actions import Patch
from policies.dialects.job_shape import PodsAt, Sign, Step, at, conditions, pods_at, total
from policies.dialects.naming import Naming
from policies.dialects.reading import Manifest, listing, mapping, text
from policies.mutation.patching import merge_patch
from reconciler.jobs.elastic import with_gate
from reconciler.jobs.kind import STOP_FORGOTTEN, STOP_NOTED, STOPPING, DescribedKind, Ending, Writing, job_patch, notes
from reconciler.jobs.pod_changes import CannotStart, PodChanges, all_placed, changes, placed, restored, started
from reconciler.jobs.step import JobInputs
from scheduling.objects.workload import Workload

_NO_CHANGE: Mapping[str, Any] = {}
_NOT_ITS_BODY = ("apiVersion", "kind", "metadata", "status")


class JobKind(DescribedKind):
    """A kind of job: everything in the life of a queued job that depends on its kind. Results depend on the arguments.

    `own_labels`: the labels that the job's own controller adds to pod templates.
    """

    own_labels: tuple[str, ...] = ()

    def named(self, naming: Naming) -> Self:
        return self if naming == self.naming else type(self)(self.shape, naming)

    # --- reports of a job

    def ending(self, job: Manifest) -> Ending | None:
        """How the job has ended; None if it has not."""
        return _ended(job, "Succeeded", self.shape.succeeded) or _ended(job, "Failed", self.shape.failed)

    def suspended(self, job: Manifest) -> bool:
        return at(job, self.shape.suspend.path) == self.shape.suspend.on

    def halfway(self, job: Manifest) -> bool:
        """Whether the job is suspended, but its original pod templates have not been restored yet."""
        return notes(job).get(STOPPING) == "true"

    def on_hold(self, job: Manifest) -> bool:
        """Whether the job cannot run as it is. It needs no quota until it is changed."""
        return self.shape.on_hold is not None and self.shape.on_hold.message_in(job) is not None

    def quiet(self, job: Manifest) -> bool:
        """Whether the job has no pods left."""
        active = self.shape.active
        if total(job, active.counts) or (active.sign is not None and active.sign.message_in(job) is not None):
            return False
        if Sign(fields=active.idle).message_in(job) is None:
            return False
        resumed = any(each.get("type") == active.resumed for each in conditions(job, "False"))
        return not (active.resumed and resumed and self.suspended(job))

    def terminating(self, job: Manifest) -> bool:
        """Whether the job reports pods that are being deleted and have not ended. Most kinds do not report that."""
        del job
        return False

    def ready(self, job: Manifest) -> bool:
        """Whether all pods are ready or done. Without a definition of readiness, a running job is ready."""
        ready = self.shape.ready
        if ready is None:
            return True
        if ready.sign is not None:
            return ready.sign.message_in(job) is not None
        if ready.of:
            return total(job, ready.counts) == total(job, ready.of)
        return total(job, ready.counts) >= sum(pods.count for pods in self.pods(job))

    def reclaimable(self, job: Manifest) -> dict[str, int]:
        """The number of pods that are done and need no replacement, by pod set."""
        where = self.shape.reclaimable
        if where is None:
            return {}
        done = {
            (text(at(each, where.name)) or "").lower(): total(each, (where.count,))
            for each in map(mapping, listing(at(job, where.entries)))
        }
        found = {pods.name: done.get(pods.name, 0) * pods.each for pods in self.pods(job)}
        return {pods.name: found[pods.name] for pods in self.pods(job) if 0 < found[pods.name] <= pods.count}

    def pods(self, job: Manifest) -> list[PodsAt]:
        return list(pods_at(job, self.shape.pod_sets))

    # --- writes to a job

    def starting(self, job: Manifest, read: Workload, inputs: JobInputs) -> Writing | None:
        """The write that starts the job with its flavors; None while a flavor is not known. Raises CannotStart."""
        given = changes(read, inputs.flavors)
        if given is None:
            return None
        by_name = {each.name: each for each in given}
        if by_name.keys() != {pods.name for pods in self.pods(job)}:
            raise CannotStart(f"quota is assigned to {_names(by_name)}, the job has {_names(self._templates(job))}")
        if not self._has_switch(job):
            raise CannotStart(f"there is no place for {self.shape.suspend.path} in the job")
        made = {name: started(template, by_name[name]) for name, template in self._templates(job).items()}
        wanted = self._with(job, made, self.shape.suspend.off)
        return Writing(self._patch(job, with_gate(self, wanted) if inputs.elastic else wanted))

    def adjusting(self, job: Manifest, inputs: JobInputs) -> Patch | None:
        """The write to a running job that keeps it from replacing Pods that still use quota; None if not needed."""
        del job, inputs
        return None

    def stopping(self, job: Manifest, workload: Manifest | None, reserved: bool) -> Writing | None:
        """The next write until the job is suspended with the pod templates from its Workload.

        None if that is reached, or while pods terminate. Without a Workload, the templates stay as they are.
        """
        if not self._has_switch(job):
            return None
        kept = _templates(workload)
        before = {
            name: restored(template, kept[name], self.own_labels)
            for name, template in self._templates(job).items()
            if name in kept
        }
        stopped = self._with(job, before, self.shape.suspend.on)
        if not self.suspended(job):
            at_once = self._with(job, {}, self.shape.suspend.on) if self.shape.late else stopped
            return Writing(self._patch(job, at_once, STOP_NOTED if at_once != stopped else {}))
        change = bool(_body(job, stopped))
        if not self.halfway(job) and not (change and reserved):
            return None
        return Writing(self._patch(job, stopped, STOP_FORGOTTEN), reported=False) if self.quiet(job) else None

    def unmarked(self, job: Manifest) -> Patch | None:
        """The write that ends a stop whose templates cannot be restored because the Workload is gone."""
        return self._patch(job, job, STOP_FORGOTTEN) if self.halfway(job) else None

    def runs_as_admitted(self, job: Manifest, read: Workload, inputs: JobInputs) -> bool:
        """Whether the job was started with its assigned flavors, and not by a user before that."""
        return all_placed(read, inputs.flavors, partial(_placed, self._templates(job)))

    def _has_switch(self, job: Manifest) -> bool:
        """Whether the field that suspends the job can be set. If its path has another type, the object is malformed."""
        held: object = job
        for step in self.shape.suspend.steps[:-1]:
            held = mapping(held).get(step)
            if not isinstance(held, Mapping | None):
                return False
        return True

    def _templates(self, job: Manifest) -> dict[str, Mapping[str, Any]]:
        return {pods.name: pods.template for pods in self.pods(job)}

    def _with(self, job: Manifest, templates: Mapping[str, Mapping[str, Any]], switch: object) -> dict[str, Any]:
        """The job with these pod templates, and this value in the field that suspends it."""
        made = deepcopy(dict(job))
        for pods in self.pods(job):
            if pods.name in templates:
                _put(made, pods.path, templates[pods.name])
        _put(made, self.shape.suspend.steps, switch)
        return made

    def _patch(self, job: Manifest, wanted: Manifest, change: Mapping[str, Any] = _NO_CHANGE) -> Patch:
        return job_patch(self.resource, job, {**change, **_body(job, wanted)})


def _ended(job: Manifest, reason: str, sign: Sign | None) -> Ending | None:
    message = sign.message_in(job) if sign is not None else None
    return Ending(reason, message) if message is not None else None


def _placed(templates: Mapping[str, Mapping[str, Any]], given: PodChanges) -> bool:
    return given.name in templates and placed(templates[given.name], given)


def _templates(workload: Manifest | None) -> dict[str, Mapping[str, Any]]:
    entries = map(mapping, listing(at(workload, "spec.podSets")))
    return {text(each.get("name")) or "main": mapping(each.get("template")) for each in entries}


def _put(made: dict[str, Any], path: tuple[Step, ...], value: object) -> None:
    """Set the value at a path. Missing parents are created."""
    held: Any = made
    for step in path[:-1]:
        if isinstance(held, dict) and held.get(step) is None:
            held[step] = {}
        held = held[step]
    held[path[-1]] = value


def _body(job: Manifest, wanted: Manifest) -> dict[str, Any]:
    """The merge patch from one job to the other, without the fields that users do not write."""
    before, after = ({key: value for key, value in each.items() if key not in _NOT_ITS_BODY} for each in (job, wanted))
    return merge_patch(before, after)


def _names(found: Mapping[str, object]) -> str:
    return ", ".join(sorted(found)) or "nothing"
