"""The content of a queues.yaml, each part with its field path and its line, counted from 1."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as made
from typing import Any, TypeAlias

from policies.dialects.yunikorn_config.resources import YuniKornAmounts

ROOT = "root"
RECOVERY = "@recovery@"
DEFAULT_PARTITION = "default"


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault. `subject` distinguishes the faults of one field, `excess` says by how much.

    `accepted`: YuniKorn's own validation accepts it, and something fails later. `follows` and `concerns` are field
    paths of the text with the meaning that they have for a Finding. Where the cure is certain, `write` is what to write
    at `field`, or `rename` the key that it has.
    """

    field: str
    line: int
    message: str
    fix: str = ""
    subject: str = ""
    excess: int = 0
    accepted: bool = False
    follows: tuple[str, ...] = ()
    concerns: tuple[str, ...] = ()
    write: str | int | None = None
    rename: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """A text as written; the empty one and line 0 where the key is absent."""

    text: str = ""
    field: str = ""
    line: int = 0

    def __bool__(self) -> bool:
        return bool(self.text)


NONE = Text()


@dataclass(frozen=True, slots=True)
class ConfiguredAmount:
    """`value` is in YuniKorn's units; None where the text is not an amount; then `fault` says why."""

    written: Text
    value: int | None
    fault: str = ""


Resources: TypeAlias = Mapping[str, ConfiguredAmount]


def amounts(resources: Resources | None) -> YuniKornAmounts:
    """The numbers, without those that cannot be read."""
    return {name: amount.value for name, amount in (resources or {}).items() if amount.value is not None}


@dataclass(frozen=True, slots=True)
class Limit:
    """What users and groups may have in a queue. `name` is its `limit`; 0 applications means no limit on them."""

    field: str
    line: int
    name: str = ""
    users: tuple[Text, ...] = ()
    groups: tuple[Text, ...] = ()
    max_resources: Resources = made(default_factory=dict)
    max_applications: int = 0


@dataclass(frozen=True, slots=True)
class Template:
    """What a queue gives to the dynamic queues below it."""

    line: int
    max_applications: int = 0
    properties: Mapping[str, Text] = made(default_factory=dict)
    guaranteed: Resources | None = None
    maximum: Resources | None = None


@dataclass(frozen=True, slots=True)
class ConfiguredQueue:
    """A queue of the tree. `path` holds the names as written, from root.

    `parent` is the flag; a queue with children is a parent without it. `guaranteed` and `maximum` are None where the
    key is absent, but not where it is empty.
    """

    name: str
    path: str
    field: str
    line: int
    parent: bool = False
    guaranteed: Resources | None = None
    maximum: Resources | None = None
    max_applications: int = 0
    properties: Mapping[str, Text] = made(default_factory=dict)
    admin_acl: Text = NONE
    submit_acl: Text = NONE
    template: Template | None = None
    queues: tuple[ConfiguredQueue, ...] = ()
    limits: tuple[Limit, ...] = ()
    known: dict[Hashable, tuple[Mapping[str, int], Any]] = made(
        init=False, repr=False, compare=False, default_factory=dict
    )
    """What checks remember of this queue and all below it; of any other content `replace` makes a queue without it."""

    @property
    def is_leaf(self) -> bool:
        return not self.parent and not self.queues

    def at(self, *keys: str) -> str:
        return ".".join((self.field, *keys)) if self.field else ".".join(keys)

    def declared(self) -> Iterator[tuple[Resources | None, str]]:
        """All its amounts, with what they are, for messages."""
        yield self.guaranteed, f"guaranteed of {self.path}"
        yield self.maximum, f"max of {self.path}"
        if self.template is not None:
            yield self.template.guaranteed, f"guaranteed of the child template of {self.path}"
            yield self.template.maximum, f"max of the child template of {self.path}"
        for limit in self.limits:
            yield limit.max_resources, f"limit {limit.name!r} of {self.path}"

    def walk(self) -> Iterator[ConfiguredQueue]:
        """The queue and all below it, parents first."""
        yield self
        for child in self.queues:
            yield from child.walk()


@dataclass(frozen=True, slots=True)
class Filter:
    type: Text = NONE
    users: tuple[Text, ...] = ()
    groups: tuple[Text, ...] = ()


@dataclass(frozen=True, slots=True)
class PlacementRule:
    field: str
    line: int
    name: Text = NONE
    create: bool = False
    filter: Filter = Filter()
    parent: PlacementRule | None = None
    value: Text = NONE

    def chain(self) -> tuple[PlacementRule, ...]:
        """The rule that supplies the top of the path first, this rule last."""
        return (*(self.parent.chain() if self.parent else ()), self)


@dataclass(frozen=True, slots=True)
class Partition:
    """`root` is the queue above all others, inserted where the text has none; None where `queues` is absent.

    `limits` are the partition's own, which root takes over where it has none. `preempts`: queues win back what they are
    guaranteed.
    """

    name: Text
    field: str
    line: int
    root: ConfiguredQueue | None = None
    rules: tuple[PlacementRule, ...] = ()
    limits: tuple[Limit, ...] = ()
    sort_type: Text = NONE
    weights: Mapping[str, tuple[Text, float]] = made(default_factory=dict)
    resolver: Text = NONE
    preempts: bool = True
    quota_preemption: bool = False

    @property
    def called(self) -> str:
        """Its name in lower case; one without a name is the default partition."""
        return self.name.text.lower() or DEFAULT_PARTITION

    def queue(self, path: str) -> ConfiguredQueue | None:
        """The queue of this path, in any case of letters."""
        steps = path.lower().split(".")
        queue = self.root
        if queue is None or steps[0] != ROOT:
            return None
        for step in steps[1:]:
            queue = next((child for child in queue.queues if child.name.lower() == step), None)
            if queue is None:
                return None
        return queue


@dataclass(frozen=True, slots=True)
class Config:
    """A whole queues.yaml. `problems` are the faults of the text; what they concern counts as absent."""

    partitions: tuple[Partition, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def partition(self) -> Partition | None:
        """The default partition, the only one that Kubernetes uses."""
        return next((partition for partition in self.partitions if partition.called == DEFAULT_PARTITION), None)

    @property
    def roots(self) -> Iterator[ConfiguredQueue]:
        """The root queue of each partition that has queues."""
        return (partition.root for partition in self.partitions if partition.root is not None)
