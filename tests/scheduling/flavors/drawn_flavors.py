"""Trees of Cohorts and ClusterQueues drawn by indentation, for tests.

    org
      team         one/cpu=4
        [eng]      one/cpu=10+2  one/cpu:7      nominal 10, may borrow 2; 7 in use
        [web]      one/cpu=6-1                  nominal 6, lends 1

ClusterQueues stand in brackets; a flavor that is mentioned exists, without labels, unless it is given otherwise.
Resources with the same flavors are one resource group.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from policies.dialects.kueue_flavor import Flavor
from policies.model.pools import Terms, count
from policies.model.quantity import Quantity
from scheduling.flavors.assigner import assign
from scheduling.flavors.assignment import FlavorAssignment
from scheduling.flavors.modes import Grade, Mode, Simulate
from scheduling.objects.amounts import FlavorResource
from scheduling.objects.queue_settings import ClusterQueueSettings, CohortSettings, FlavorGroup
from scheduling.quota.state import Options, QuotaState
from tests.scheduling.manifests import pod_set, workload

_TERMS = re.compile(r"(?P<pair>[^=]+)=(?P<nominal>[^+-]+)(\+(?P<borrowing>[^-]+))?(-(?P<lending>.+))?").fullmatch


class _Node(NamedTuple):
    name: str
    is_queue: bool
    parent: str | None
    terms: dict[FlavorResource, Terms]
    usage: dict[FlavorResource, int]


def state(picture: str, *flavors: Flavor, options: Options | None = None, **settings: Any) -> QuotaState:
    """The drawn world; `settings` are those of every ClusterQueue."""
    drawn = QuotaState(options)
    drawn.flavors.update({flavor.name: flavor for flavor in flavors})
    for node in _nodes(picture):
        if not node.is_queue:
            drawn.put_cohort(CohortSettings(node.name, node.parent, node.terms))
            continue
        for pair in node.terms:
            drawn.flavors.setdefault(pair.flavor, Flavor(pair.flavor, {}))
        queue = drawn.put_queue(
            replace(ClusterQueueSettings(node.name, node.parent, node.terms, _groups(node)), **settings)
        )
        drawn.tree.add(queue.node, node.usage)
    return drawn


def answering(**answers: Grade) -> Simulate:
    """A search for victims that finds this, by flavor; for other flavors nobody."""
    return lambda pair, _: answers.get(pair.flavor, Grade(Mode.NO_CANDIDATES, 0))


def chosen(assignment: FlavorAssignment) -> dict[str, str]:
    return {res: choice.flavor for entry in assignment.pod_sets for res, choice in entry.choices.items()}


NOBODY = answering()


def ask(world: QuotaState, simulate: Simulate = NOBODY, *, cpu: str = "1", **more: str) -> FlavorAssignment:
    """One pod in the ClusterQueue q."""
    one = workload(pod_set(spec={"containers": [{"resources": {"requests": {"cpu": cpu, **more}}}]}))
    return assign(world, world.queues["q"], one, simulate=simulate)


def _nodes(picture: str) -> Iterator[_Node]:
    path: list[tuple[int, str]] = []
    for line in filter(str.strip, picture.splitlines()):
        indent = len(line) - len(line.lstrip())
        word, *fields = line.split()
        path = [step for step in path if step[0] < indent]
        name, parent = word.strip("[]"), path[-1][1] if path else None
        path.append((indent, name))
        terms = dict(map(_terms, (field for field in fields if "=" in field)))
        usage = dict(map(_used, (field for field in fields if ":" in field)))
        yield _Node(name, word.startswith("["), parent, terms, usage)


def _terms(field: str) -> tuple[FlavorResource, Terms]:
    found = _TERMS(field)
    assert found is not None, field
    pair = FlavorResource.parse(found["pair"])
    borrowing, lending = (None if found[key] is None else _amount(pair, found[key]) for key in ("borrowing", "lending"))
    return pair, Terms(_amount(pair, found["nominal"]), borrowing, lending)


def _used(field: str) -> tuple[FlavorResource, int]:
    name, _, amount = field.partition(":")
    pair = FlavorResource.parse(name)
    return pair, _amount(pair, amount)


def _amount(pair: FlavorResource, text: str) -> int:
    return count(pair.resource, Quantity.parse(text))


def _groups(node: _Node) -> tuple[FlavorGroup, ...]:
    by_resource: dict[str, list[str]] = {}
    for pair in node.terms:
        by_resource.setdefault(pair.resource, []).append(pair.flavor)
    groups: dict[tuple[str, ...], set[str]] = {}
    for resource, names in by_resource.items():
        groups.setdefault(tuple(names), set()).add(resource)
    return tuple(FlavorGroup(frozenset(resources), names) for names, resources in groups.items())
