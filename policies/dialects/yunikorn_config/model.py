"""The content of a queues.yaml. Each part has its field path and its line, counted from 1."""

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
    """One fault.

    `subject`: distinguishes the faults of one field.
    `excess`: by how much a number exceeds a limit.
    `accepted`: YuniKorn's own validation accepts it, and something fails later or has no effect.
    `follows`, `concerns`: field paths of the text; see Finding.
    `write`, `rename`: the right value for `field`, or the right key, if the fix is certain.
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
    """A text as written. If the key is absent, the text is empty and the line is 0."""

    text: str = ""
    field: str = ""
    line: int = 0

    def __bool__(self) -> bool:
        return bool(self.text)


NONE = Text()


@dataclass(frozen=True, slots=True)
class ConfiguredAmount:
    """An amount.

    `value`: in YuniKorn's units; None if the text is not an amount. Then `fault` says why.
    """

    written: Text
    value: int | None
    fault: str = ""


Resources: TypeAlias = Mapping[str, ConfiguredAmount]


def amounts(resources: Resources | None) -> YuniKornAmounts:
    """The values of the amounts that can be read."""
    return {name: amount.value for name, amount in (resources or {}).items() if amount.value is not None}


@dataclass(frozen=True, slots=True)
class Limit:
    """An entry of `limits`: how much users and groups may use in a queue.

    `name`: the value of its key `limit`.
    `max_applications`: 0 means no limit.
    """

    field: str
    line: int
    name: str = ""
    users: tuple[Text, ...] = ()
    groups: tuple[Text, ...] = ()
    max_resources: Resources = made(default_factory=dict)
    max_applications: int = 0


@dataclass(frozen=True, slots=True)
class Template:
    """The child template of a queue, which sets the values of dynamic queues below it."""

    line: int
    max_applications: int = 0
    properties: Mapping[str, Text] = made(default_factory=dict)
    guaranteed: Resources | None = None
    maximum: Resources | None = None


@dataclass(frozen=True, slots=True)
class ConfiguredQueue:
    """A queue of the tree.

    `path`: the names from root to this queue, as written.
    `parent`: the flag `parent`. A queue with children is a parent even without it.
    `guaranteed`, `maximum`: None if the key is absent; an empty mapping is not None.
    `max_applications`: 0 means no limit.
    `known`: the results of checks for this queue and its descendants. `replace` makes a queue without them.
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

    @property
    def is_leaf(self) -> bool:
        return not self.parent and not self.queues

    def at(self, *keys: str) -> str:
        return ".".join((self.field, *keys)) if self.field else ".".join(keys)

    def declared(self) -> Iterator[tuple[Resources | None, str]]:
        """All its amounts, each with a name for messages."""
        yield self.guaranteed, f"guaranteed of {self.path}"
        yield self.maximum, f"max of {self.path}"
        if self.template is not None:
            yield self.template.guaranteed, f"guaranteed of the child template of {self.path}"
            yield self.template.maximum, f"max of the child template of {self.path}"
        for limit in self.limits:
            yield limit.max_resources, f"limit {limit.name!r} of {self.path}"

    def walk(self) -> Iterator[ConfiguredQueue]:
        """The queue and its descendants, parents first."""
        yield self
        for child in self.queues:
            yield from child.walk()


@dataclass(frozen=True, slots=True)
class Filter:
    """The filter of a placement rule: whether it allows or denies (`type`) these users and groups."""

    type: Text = NONE
    users: tuple[Text, ...] = ()
    groups: tuple[Text, ...] = ()


@dataclass(frozen=True, slots=True)
class PlacementRule:
    """A placement rule.

    `name`: the kind of rule as written, such as `Tag` or `fixed`.
    `create`: whether the rule may create the queue.
    `parent`: the rule that returns the parent of the queue, or None.
    `value`: the name of a tag or a queue, for some kinds of rules.
    """

    field: str
    line: int
    name: Text = NONE
    create: bool = False
    filter: Filter = Filter()
    parent: PlacementRule | None = None
    value: Text = NONE

    @property
    def kind(self) -> str:
        """The kind of rule in lower case, as YuniKorn reads it."""
        return self.name.text.lower()

    def chain(self) -> tuple[PlacementRule, ...]:
        """The rule and its parent rules, the topmost rule first."""
        return (*(self.parent.chain() if self.parent else ()), self)


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition.

    `root`: the root queue, which is inserted if the text has none; None if `queues` is absent.
    `rules`: the placement rules.
    `limits`: the limits of the partition. root inherits them if it has none.
    `sort_type`, `weights`: the node sort policy and its weights.
    `resolver`: the user group resolver.
    `preempts`: whether queues get back their guaranteed amounts by preemption.
    `quota_preemption`: whether the scheduler preempts after a max was lowered.
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
    _by_path: Mapping[str, ConfiguredQueue] | None = made(init=False, repr=False, compare=False, default=None)

    @property
    def called(self) -> str:
        """Its name in lower case. A partition without a name is `default`."""
        return self.name.text.lower() or DEFAULT_PARTITION

    @property
    def queues(self) -> Mapping[str, ConfiguredQueue]:
        """All queues by path in lower case. Of several children with one name, it has the first and those below it."""
        if self._by_path is None:
            found: dict[str, ConfiguredQueue] = {}
            waiting = [self.root] if self.root is not None else []
            while waiting:
                queue = waiting.pop()
                if found.setdefault(queue.path.lower(), queue) is queue:
                    waiting += reversed(queue.queues)
            object.__setattr__(self, "_by_path", found)
        return self._by_path or {}

    def queue(self, path: str) -> ConfiguredQueue | None:
        """The queue with this path. The case of letters does not matter."""
        return self.queues.get(path.lower())


@dataclass(frozen=True, slots=True)
class Config:
    """A whole queues.yaml. `problems`: the faults of the text. The faulty values count as absent."""

    partitions: tuple[Partition, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def partition(self) -> Partition | None:
        """The default partition, the only one that Kubernetes uses."""
        return next((partition for partition in self.partitions if partition.called == DEFAULT_PARTITION), None)

    @property
    def roots(self) -> Iterator[ConfiguredQueue]:
        return (partition.root for partition in self.partitions if partition.root is not None)
