"""The description of a kind of job, by paths: its pods, its switch, and what its status says.

`policies.dialects.frameworks` has the kinds that Kueue knows; an administrator describes others in the configuration.

A path is keys between dots. In paths of numbers `*` stands for every entry of a list or a mapping.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from policies.dialects.reading import Manifest, integer, listing, mapping, text
from policies.model.objects import GroupKind

Step: TypeAlias = str | int
"""A key of a mapping, or the place in a list."""


@dataclass(frozen=True, slots=True)
class Count:
    """A number of pods at a path, 1 where it is absent, and no more, or no fewer, than what other paths say."""

    path: str
    at_most: str = ""
    at_least: str = ""

    def of(self, holder: Manifest) -> int:
        count, most = integer(at(holder, self.path)), integer(at(holder, self.at_most)) if self.at_most else None
        least = (integer(at(holder, self.at_least)) or 0) if self.at_least else 0
        count = max(least, 1 if count is None else max(0, count))
        return count if most is None else min(count, max(0, most))


@dataclass(frozen=True, slots=True)
class PodSetPath:
    """Where a job keeps one pod set, or a list or mapping of them.

    `template` is the path of a pod template; without one there is no such pod set, unless `otherwise` makes one of the
    job. `counts` are multiplied. With `entries`, the path of a list or a mapping, the other paths start at each entry,
    and `name` is the path of its name; empty for its key in the mapping, or its number in the list. `order` are the
    keys of a mapping that come first. `when`: there is such a pod set only where these fields are so.
    """

    name: str
    template: str
    counts: tuple[Count, ...] = ()
    entries: str = ""
    index_label: str = ""
    """The label with the number of a pod, for topology-aware scheduling."""
    sub_group_label: str = ""
    """The label that numbers the groups that its pods form, one for each of the first of the counts."""
    order: tuple[str, ...] = ()
    when: Mapping[str, tuple[object, ...]] = field(default_factory=dict)
    otherwise: Callable[[Manifest], Mapping[str, Any]] | None = None
    counted: Callable[[Manifest, Mapping[str, Any]], Mapping[str, Any]] | None = None
    """From the job and the template: the template with what the job's controller adds to its pods."""


@dataclass(frozen=True, slots=True)
class PodsAt:
    """`count` pods of one template, in `sub_groups` of `each`, as the first of the counts says. `path` leads to the
    template.

    `counted` is the template with what the job's controller adds to the pods: quota counts this one. It is never
    written to the job.
    """

    name: str
    count: int
    each: int
    template: Mapping[str, Any]
    counted: Mapping[str, Any]
    path: tuple[Step, ...]
    index_label: str = ""
    sub_group_label: str = ""
    sub_groups: int = 0


def pods_at(manifest: Manifest, paths: Iterable[PodSetPath]) -> Iterator[PodsAt]:
    """The pods of a job, in the order of `paths`. Names are in lower case, as Kueue writes them."""
    for path in paths:
        if not all(at(manifest, each) in values for each, values in path.when.items()):
            continue
        for name, steps, entry in _entries(manifest, path):
            template = mapping(at(entry, path.template)) or (path.otherwise(manifest) if path.otherwise else {})
            if template:
                numbers = [count.of(entry) for count in path.counts]
                whole = (*steps, *path.template.split("."))
                count, each = _product(numbers), _product(numbers[1:])
                groups = numbers[0] if numbers else 1
                labels = path.index_label, path.sub_group_label
                counted = path.counted(manifest, template) if path.counted else template
                yield PodsAt(name.lower(), count, each, template, counted, whole, *labels, groups)


def _entries(manifest: Manifest, path: PodSetPath) -> Iterator[tuple[str, tuple[Step, ...], Manifest]]:
    """Name, steps and content of what holds a template."""
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
    """What a status must show: one of these conditions is True, and each of these fields has one of its values.

    `message` is the path of its message; empty for the message of the condition.
    """

    conditions: tuple[str, ...] = ()
    fields: Mapping[str, tuple[object, ...]] = field(default_factory=dict)
    message: str = ""

    def message_in(self, manifest: Manifest) -> str | None:
        """The message in the status, or None."""
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
    """The field that keeps a job from having pods, what it says then, and what it says while the job runs."""

    path: str
    on: object = True
    off: object = False

    @property
    def steps(self) -> tuple[str, ...]:
        return tuple(self.path.split("."))


@dataclass(frozen=True, slots=True)
class ReadyPods:
    """All pods are ready: `sign`, or else the sum of `counts` is that of `of`; empty: of all its pods."""

    sign: Sign | None = None
    counts: tuple[str, ...] = ()
    of: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Active:
    """A job may have pods while a number at `counts` is not 0, the status shows `sign`, or a field is not `idle`.

    `resumed` is a condition that is False while the job runs: its controller has not stopped it yet.
    """

    counts: tuple[str, ...] = ()
    idle: Mapping[str, tuple[object, ...]] = field(default_factory=dict)
    sign: Sign | None = None
    resumed: str = ""


@dataclass(frozen=True, slots=True)
class ReclaimableCount:
    """Where the status tells how many of a pod set's first count are done for good: in entries with a name."""

    entries: str
    name: str
    count: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """A kind of job that Kueue queues, by a name in `integrations.frameworks`.

    `managed_by` is the path of the field that says whose controller runs it, `controller` what it says of the kind's
    own, empty where it has no name. `makes` are the kinds
    that its controller makes, POD for Pods; None for any. `prebuilt`: a job may name a Workload that was made before
    it. `elastic`: it may grow by slices of a Workload. `suspend` is None where it cannot be suspended.
    """

    kind: GroupKind
    version: str
    plural: str
    alias: str = ""
    """Its name in `integrations.frameworks`; empty for group/kind in lower case."""
    default: bool = False
    """Whether the kind is queued if `integrations.frameworks` is not set."""
    suspend: SuspendField | None = None
    managed_by: str = ""
    controller: str = ""
    makes: tuple[GroupKind, ...] | None = None
    prebuilt: bool = True
    elastic: bool = False
    dispatched: bool = True
    """MultiKueue sends it to other clusters."""
    own_webhook: bool = False
    """Its mutating webhook is written by hand, since the match conditions read fields of this kind."""
    by_pods: bool = False
    """Its Pods are queued one by one, and have the Workloads. `templates` are the paths of their templates."""
    templates: tuple[str, ...] = ()
    pods: Callable[[Manifest], Iterator[PodsAt]] | None = None
    """Its pods, where the rules judge them and no path can say how many there are."""

    @property
    def name(self) -> str:
        return self.alias or f"{self.kind.group}/{self.kind.kind.lower()}"

    def may_make(self, kind: GroupKind) -> bool:
        """Whether an object of this kind can be a child of such a job. Anybody can write an owner reference."""
        return self.makes is None or kind in self.makes

    def pods_of(self, manifest: Manifest) -> Iterator[PodsAt]:
        """The pods that such a job describes; none where what they ask for depends on other objects."""
        if self.pods is not None:
            yield from self.pods(manifest)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobShape(Framework):
    """A kind of job that the reconciler runs. `succeeded` and `failed` are None where it never ends.

    `unless` is a path: where it has a value, the job is not queued. `late`: its templates may change only when it
    has no pods any more, and not together with the switch.
    """

    suspend: SuspendField
    pod_sets: tuple[PodSetPath, ...]
    succeeded: Sign | None = None
    failed: Sign | None = None
    ready: ReadyPods | None = None
    active: Active = Active()
    reclaimable: ReclaimableCount | None = None
    priority_class: str = ""
    unless: str = ""
    late: bool = False
    own_sets: tuple[str, ...] = ()
    """The pod sets whose Pods its controller makes itself, where children run the others: not for children."""
    generations: int = 1
    """How many times its own request its children may take in all, while it replaces one by the next."""
    on_hold: Sign | None = None
    """What its status shows while it needs no quota, although it has neither ended nor is suspended."""

    def ended(self, manifest: Manifest) -> bool:
        """Whether such a job has succeeded or failed."""
        signs = (self.succeeded, self.failed)
        return any(sign is not None and sign.message_in(manifest) is not None for sign in signs)

    def pods_of(self, manifest: Manifest) -> Iterator[PodsAt]:
        return pods_at(manifest, self.pod_sets)


def at(holder: object, path: str) -> object:
    """The value at a path of keys between dots; None where there is none."""
    for key in path.split("."):
        holder = mapping(holder).get(key)
    return holder


def total(holder: Manifest, paths: Iterable[str]) -> int:
    """The sum of the whole numbers at these paths."""
    return sum(integer(found) or 0 for path in paths for found in _all(holder, path.split(".")))


def conditions(manifest: Manifest, status: str) -> Iterator[Mapping[str, Any]]:
    """The conditions in the manifest's status whose own status is `status`."""
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
    """An absent field counts as an empty one."""
    return "" if value is None else value


def _product(numbers: Iterable[int]) -> int:
    found = 1
    for number in numbers:
        found *= number
    return found
