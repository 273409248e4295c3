"""Describes a kind of job by the paths of its fields: its pods, its suspend field and its status.

`policies.dialects.frameworks` has the kinds that Kueue knows. An administrator can describe others in the
configuration.

A path is a text of keys with dots between them. In paths of numbers `*` stands for every entry of a list or mapping.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any, TypeAlias

from policies.dialects.kueue_kinds import PREFIX
from policies.dialects.reading import Manifest, integer, listing, mapping, text, texts
from policies.model import fields
from policies.model.objects import GroupKind

Step: TypeAlias = str | int
"""A key of a mapping, or an index of a list."""


@dataclass(frozen=True, slots=True)
class Count:
    """A number of pods, which a job has at `path`; 1 if it is absent.

    `at_most`, `at_least`: the paths of numbers that limit it; empty for none.
    `least`: the smallest number with which the job's controller works.
    """

    path: str
    at_most: str = ""
    at_least: str = ""
    least: int = 0

    def of(self, holder: Manifest) -> int:
        count, most = integer(at(holder, self.path)), integer(at(holder, self.at_most)) if self.at_most else None
        least = (integer(at(holder, self.at_least)) or 0) if self.at_least else 0
        count = max(least, self.least, 1 if count is None else count)
        return count if most is None else min(count, max(0, most))


@dataclass(frozen=True, slots=True)
class PodSetPath:
    """Where a job has one pod set, or a list or mapping of pod sets.

    `name`: the name of the pod set; with `entries`, the path of the name, or empty for the key or index of an entry.
    `template`: the path of a pod template. Without a template there is no such pod set, unless `otherwise` makes one.
    `counts`: the numbers whose product is the number of pods.
    `entries`: the path of a list or mapping with an entry for each pod set. The other paths then start at each entry.
    `index_label`: the label with the number of a pod, for topology-aware scheduling.
    `sub_group_label`: the label with the number of a group of pods. There is one group for each of the first count.
    `order`: the keys of a mapping that come first.
    `when`: the values that fields must have; else there is no such pod set.
    `otherwise`: makes the template from the job if the job has none.
    `counted`: returns, from the job and the template, the template with the additions of the job's controller.
    """

    name: str
    template: str
    counts: tuple[Count, ...] = ()
    entries: str = ""
    index_label: str = ""
    sub_group_label: str = ""
    order: tuple[str, ...] = ()
    when: Mapping[str, tuple[object, ...]] = field(default_factory=dict)
    otherwise: Callable[[Manifest], Mapping[str, Any]] | None = None
    counted: Callable[[Manifest, Mapping[str, Any]], Mapping[str, Any]] | None = None


@dataclass(frozen=True, slots=True)
class PodsAt:
    """One pod set of a job.

    `count`: the number of pods.
    `each`, `sub_groups`: the pods form this many `sub_groups` of `each` pods; the first of the counts is `sub_groups`.
    `template`: the pod template in the job, at `path`.
    `counted`: the template with the additions of the job's controller. Quota counts this one, and it is never written.
    `index_label`, `sub_group_label`: see PodSetPath.
    """

    name: str
    count: int
    each: int = field(compare=False)  # for rules, pod sets with equally many pods of equal templates are equal
    template: Mapping[str, Any]
    counted: Mapping[str, Any]
    path: tuple[Step, ...]
    index_label: str = field(default="", compare=False)
    sub_group_label: str = field(default="", compare=False)
    sub_groups: int = field(default=0, compare=False)

    @property
    def at(self) -> str:
        """The path of the template as a text."""
        return fields.join("", *self.path)

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations of the template for Kueue."""
        pairs = texts(mapping(self.template.get("metadata")).get("annotations"))
        return {key: value for key, value in pairs.items() if key.startswith(PREFIX)}


def pods_at(manifest: Manifest, paths: Iterable[PodSetPath]) -> Iterator[PodsAt]:
    """The pod sets of a job, in the order of `paths`. Names are in lower case, as Kueue writes them."""
    for path in paths:
        if not all(at(manifest, each) in values for each, values in path.when.items()):
            continue
        for name, steps, entry in _entries(manifest, path):
            template = mapping(at(entry, path.template)) or (path.otherwise(manifest) if path.otherwise else {})
            if template:
                numbers = [count.of(entry) for count in path.counts]
                whole = (*steps, *path.template.split("."))
                count, each = prod(numbers), prod(numbers[1:])
                groups = numbers[0] if numbers else 1
                labels = path.index_label, path.sub_group_label
                counted = path.counted(manifest, template) if path.counted else template
                yield PodsAt(name.lower(), count, each, template, counted, whole, *labels, groups)


def _entries(manifest: Manifest, path: PodSetPath) -> Iterator[tuple[str, tuple[Step, ...], Manifest]]:
    """The name, the path and the content of each entry that has a template."""
    if not path.entries:
        yield path.name, (), manifest
        return
    steps, found = tuple(path.entries.split(".")), at(manifest, path.entries)
    if isinstance(found, Mapping):
        place = {key: number for number, key in enumerate(path.order)}
        keys = sorted(map(str, found), key=lambda key: (place.get(key, len(place)), key))
        entries: list[tuple[Step, Manifest]] = [(key, mapping(found.get(key))) for key in keys]
    else:
        entries = list(enumerate(map(mapping, listing(found))))
    for step, entry in entries:
        name = text(at(entry, path.name)) if path.name else None
        yield name or str(step), (*steps, step), entry


@dataclass(frozen=True, slots=True)
class Sign:
    """What a status must show for a job to be in some state.

    `conditions`: one of these must be True.
    `fields`: each of these paths must have one of its values.
    `message`: the path of the message; empty for the message of the condition.
    """

    conditions: tuple[str, ...] = ()
    fields: Mapping[str, tuple[object, ...]] = field(default_factory=dict)
    message: str = ""

    def message_in(self, manifest: Manifest) -> str | None:
        message = ""
        if self.conditions:
            found = next((each for each in conditions(manifest, "True") if each.get("type") in self.conditions), None)
            if found is None:
                return None
            message = text(found.get("message")) or ""
        if not all(_or_empty(at(manifest, path)) in values for path, values in self.fields.items()):
            return None
        return text(at(manifest, self.message)) or "" if self.message else message


@dataclass(frozen=True, slots=True)
class SuspendField:
    """The field that keeps a job from having pods.

    `on`, `off`: its value while the job is suspended, and while the job runs.
    """

    path: str
    on: object = True
    off: object = False

    @property
    def steps(self) -> tuple[str, ...]:
        return tuple(self.path.split("."))


@dataclass(frozen=True, slots=True)
class ReadyPods:
    """How a status shows that all pods are ready: by `sign`, or by numbers.

    `counts`: the paths of the numbers of ready pods.
    `of`: the paths of the numbers whose sum must be reached; empty for the number of all pods of the job.
    """

    sign: Sign | None = None
    counts: tuple[str, ...] = ()
    of: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Active:
    """How a status shows that a job may have pods. One of these is enough:

    `counts`: a number at one of these paths is not 0.
    `idle`: a field has none of its values here.
    `sign`: the status shows it.
    `resumed`: this condition is False, so the controller has not stopped the job yet.
    """

    counts: tuple[str, ...] = ()
    idle: Mapping[str, tuple[object, ...]] = field(default_factory=dict)
    sign: Sign | None = None
    resumed: str = ""


@dataclass(frozen=True, slots=True)
class ReclaimableCount:
    """Where the status has the number of finished pods of a pod set, in units of its first count.

    `entries`: the path of a list; `name` and `count` are paths in each entry.
    """

    entries: str
    name: str
    count: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """A kind of job that Kueue queues.

    `alias`: its name in `integrations.frameworks`; empty for group/kind in lower case.
    `default`: whether it is queued if `integrations.frameworks` is not set.
    `suspend`: its suspend field; None if jobs of the kind cannot be suspended.
    `managed_by`: the path of the field that names the controller that runs the job.
    `controller`: the value of that field for the kind's own controller; empty if that has no name.
    `unless`: a path; empty for none. A job that has a value there is not queued, whatever its labels say.
    `makes`: the kinds of objects that its controller creates, POD for Pods; None if they can be of any kind.
    `prebuilt`: whether a job may name an existing Workload.
    `elastic`: whether a job may grow by slices of a Workload.
    `dispatched`: whether MultiKueue sends jobs to other clusters.
    `own_webhook`: whether its mutating webhook is written by hand, because the match conditions read its fields.
    `by_pods`: whether its Pods are queued, and not the job. `templates`: the paths of their templates.
    `group`: returns the number of Pods that are admitted together, if its Pods are queued; 0 if each is admitted alone.
    `scaled`: the path of the number that the subresource `scale` writes, if that changes the pods that are admitted
        together; else empty.
    `pods`: returns the pods of a job, for rules, if no paths can describe their number.
    """

    kind: GroupKind
    version: str
    plural: str
    alias: str = ""
    default: bool = False
    suspend: SuspendField | None = None
    managed_by: str = ""
    controller: str = ""
    unless: str = ""
    makes: tuple[GroupKind, ...] | None = None
    prebuilt: bool = True
    elastic: bool = False
    dispatched: bool = True
    own_webhook: bool = False
    by_pods: bool = False
    templates: tuple[str, ...] = ()
    group: Callable[[Manifest], int] | None = None
    scaled: str = ""
    pods: Callable[[Manifest], Iterator[PodsAt]] | None = None

    @property
    def name(self) -> str:
        return self.alias or f"{self.kind.group}/{self.kind.kind.lower()}"

    def leaves_out(self, job: Manifest) -> bool:
        """Whether the job is never queued; see `unless`."""
        return bool(self.unless and at(job, self.unless))

    def may_make(self, kind: GroupKind) -> bool:
        """Whether the controller of such a job creates objects of this kind. Anybody can write an owner reference."""
        return self.makes is None or kind in self.makes

    def pods_of(self, manifest: Manifest) -> Iterator[PodsAt]:
        """The pods that such a job describes; none if their requests depend on other objects."""
        if self.pods is not None:
            yield from self.pods(manifest)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobShape(Framework):
    """A kind of job that the reconciler runs.

    `pod_sets`: where a job has its pod sets.
    `succeeded`, `failed`: what the status shows then; both are None for a kind that never ends.
    `ready`, `active`, `reclaimable`: how the status shows ready pods, remaining pods and finished pods.
    `priority_class`: the path of the name of a PriorityClass.
    `late`: whether templates may change only after all pods are gone, and not in the same write as the suspend field.
    `own_sets`: the pod sets whose Pods the job's controller creates, if children run the other pod sets.
    `generations`: how many times the job's request its children may use in all, while one replaces another.
    `on_hold`: what the status shows while the job needs no quota, although it is neither finished nor suspended.
    """

    suspend: SuspendField
    pod_sets: tuple[PodSetPath, ...]
    succeeded: Sign | None = None
    failed: Sign | None = None
    ready: ReadyPods | None = None
    active: Active = Active()
    reclaimable: ReclaimableCount | None = None
    priority_class: str = ""
    late: bool = False
    own_sets: tuple[str, ...] = ()
    generations: int = 1
    on_hold: Sign | None = None

    def ended(self, manifest: Manifest) -> bool:
        signs = (self.succeeded, self.failed)
        return any(sign is not None and sign.message_in(manifest) is not None for sign in signs)

    def pods_of(self, manifest: Manifest) -> Iterator[PodsAt]:
        return pods_at(manifest, self.pod_sets)


def at(holder: object, path: str) -> object:
    """The value at a path; None if it is absent."""
    for key in path.split("."):
        holder = mapping(holder).get(key)
    return holder


def total(holder: Manifest, paths: Iterable[str]) -> int:
    return sum(integer(found) or 0 for path in paths for found in _all(holder, path.split(".")))


def conditions(manifest: Manifest, status: str) -> Iterator[Mapping[str, Any]]:
    for each in map(mapping, listing(at(manifest, "status.conditions"))):
        if each.get("status") == status:
            yield each


def _all(holder: object, steps: list[str]) -> Iterator[object]:
    if not steps:
        yield holder
    elif steps[0] == "*":
        for entry in holder.values() if isinstance(holder, Mapping) else listing(holder):
            yield from _all(entry, steps[1:])
    else:
        yield from _all(mapping(holder).get(steps[0]), steps[1:])


def _or_empty(value: object) -> object:
    """The value, or an empty text for an absent field."""
    return "" if value is None else value
