"""Reads which node groups a Queue may use, and its limits in each of them.

Source: Volcano, pkg/scheduler/plugins/nodegroup; docs/design/queue-scoped-overcommit.md, which has no code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from policies.dialects.reading import listing, mapping, text
from policies.model.quantity import BadQuantity, Quantity
from policies.text import json_values
from policies.text.positions import BadText

NODE_GROUP = "volcano.sh/nodegroup-name"
"""The label of a Node that names its group."""
LIMITS = "volcano.sh/nodegroup-resource-limits"
OVERCOMMIT = "volcano.sh/overcommit-factor"


class BadNodeGroupLimits(ValueError):
    """The limits by node group cannot be read; the message says why."""


@dataclass(frozen=True, slots=True)
class NodeGroupAffinity:
    """spec.affinity of a Queue, as names of node groups.

    `required`, `preferred`: the hard and the soft affinity; `preferred` has the order of the manifest.
    `avoided`, `disliked`: the hard and the soft anti-affinity.
    """

    required: frozenset[str] = frozenset()
    preferred: tuple[str, ...] = ()
    avoided: frozenset[str] = frozenset()
    disliked: frozenset[str] = frozenset()

    def allows(self, group: str) -> bool:
        """Whether the queue may use the group. A group with a soft anti-affinity may be used."""
        chosen = group in self.required or group in self.preferred
        return group in self.disliked or (chosen and group not in self.avoided)

    def __bool__(self) -> bool:
        return bool(self.required or self.preferred or self.avoided or self.disliked)


def node_group_affinity(affinity: object) -> NodeGroupAffinity | None:
    """Read spec.affinity. None if it is absent: only then does a queue inherit that of an ancestor."""
    if affinity is None:
        return None

    def named(kind: str, when: str) -> tuple[str, ...]:
        groups = mapping(mapping(affinity).get(kind)).get(f"{when}DuringSchedulingIgnoredDuringExecution")
        return tuple(each for each in map(text, listing(groups)) if each)

    return NodeGroupAffinity(
        frozenset(named("nodeGroupAffinity", "required")),
        named("nodeGroupAffinity", "preferred"),
        frozenset(named("nodeGroupAntiAffinity", "required")),
        frozenset(named("nodeGroupAntiAffinity", "preferred")),
    )


def node_group_limits(written: str | None) -> Mapping[str, Mapping[str, Quantity]]:
    """The amounts by node group and resource; empty without the annotation. Raises BadNodeGroupLimits."""
    if not written:
        return {}
    root = json_values.read(written)
    if isinstance(root, BadText):
        raise BadNodeGroupLimits(root.message)
    if root.value is None:
        return {}
    if not isinstance(root.value, Mapping):
        raise BadNodeGroupLimits("it is not a JSON object of node groups")
    return {group: _amounts(group, amounts) for group, amounts in root.value.items()}


def _amounts(group: str, amounts: object) -> dict[str, Quantity]:
    if amounts is not None and not isinstance(amounts, Mapping):
        raise BadNodeGroupLimits(f"{group} is not an object of amounts by resource")
    found = {}
    for resource, value in mapping(amounts).items():
        try:
            found[resource] = Quantity.parse(value)
        except BadQuantity as error:
            raise BadNodeGroupLimits(f"{resource} of {group}: {error}") from error
    return found
