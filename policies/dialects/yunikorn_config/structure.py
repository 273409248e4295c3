"""Finds faults of the structure that YuniKorn's validation refuses: partitions, root, names, ACLs, amounts and node
sorting. Each check yields all faults."""

from __future__ import annotations

import re
from collections.abc import Iterator

from policies.dialects.yunikorn import CONF_FORM, VCORE, conf_quantity
from policies.dialects.yunikorn_config import acl
from policies.dialects.yunikorn_config.checking import throughout
from policies.dialects.yunikorn_config.model import Config, ConfiguredQueue, Limit, Partition, Problem, Resources
from policies.dialects.yunikorn_config.quotas import queue_amount
from policies.model.findings import apart
from policies.model.quantity import BadQuantity, Quantity, correction

SORT_TYPES = ("", "fair", "binpacking")

name_fits = re.compile(r"[a-zA-Z0-9_:#/@-]{1,64}").fullmatch
NAME_RULE = "1 to 64 of the characters a-z A-Z 0-9 - _ : # / @"


def structure(config: Config) -> Iterator[Problem]:
    """All faults of the structure and of the text itself."""
    yield from config.problems
    yield from _duplicate_partitions(config)
    for partition in config.partitions:
        yield from partition_structure(partition)
        if partition.root is not None:
            yield from queue_structure(partition.root)
            yield from amounts_read(partition.root)
        yield from node_sorting(partition)


def _duplicate_partitions(config: Config) -> Iterator[Problem]:
    seen: dict[str, int] = {}
    for partition in config.partitions:
        if partition.called in seen:
            message = f"partition {partition.called} is defined twice, first in line {seen[partition.called]}"
            yield Problem(f"{partition.field}.name", partition.line, message, "merge the two", partition.called)
        seen.setdefault(partition.called, partition.line)


def partition_structure(partition: Partition) -> Iterator[Problem]:
    """Check that `queues` exists, that root has no resources, and that limits are in one place only."""
    at, root = partition.field, partition.root
    if root is None:
        message = f"partition {partition.called} has no queues"
        yield Problem(f"{at}.queues", partition.line, message, "add `queues`; an empty list creates only the root")
        return
    for key, declared in (("guaranteed", root.guaranteed), ("max", root.maximum)):
        if declared is not None:
            message = f"root has resources.{key}; the nodes determine the size of root"
            yield Problem(root.at("resources", key), root.line, message, "remove it", key)
    if partition.limits and _plain(partition.limits) != _plain(root.limits):
        message = "the partition and root have different limits"
        yield Problem(f"{at}.limits", partition.limits[0].line, message, "keep the limits of one of the two")


def _plain(limits: tuple[Limit, ...]) -> list[object]:
    """The limits without their positions."""
    return [
        (
            limit.name,
            [user.text for user in limit.users],
            [group.text for group in limit.groups],
            {name: amount.written.text for name, amount in limit.max_resources.items()},
            limit.max_applications,
        )
        for limit in limits
    ]


def queue_structure(root: ConfiguredQueue) -> Iterator[Problem]:
    """Faults of ACLs of the queue and its descendants, and of the descendants' names."""
    return throughout(root, _acls_and_names)


def _acls_and_names(queue: ConfiguredQueue) -> Iterator[Problem]:
    for key, declared in (("adminacl", queue.admin_acl), ("submitacl", queue.submit_acl)):
        if not acl.passes_check(declared.text):
            message = f"{key} of {queue.path} is {declared.text!r}: more than two lists"
            fix = "write `users groups`: two comma-separated lists with one space between"
            yield Problem(declared.field, declared.line, message, fix, f"{queue.path} {key}")
    yield from _names(queue)


def _names(queue: ConfiguredQueue) -> Iterator[Problem]:
    seen: dict[str, ConfiguredQueue] = {}
    for child in queue.queues:
        if not name_fits(child.name):
            message = f"{child.name!r} below {queue.path} is not a queue name"
            yield Problem(child.at("name"), child.line, message, f"use {NAME_RULE}", child.path)
        first = seen.setdefault(child.name.lower(), child)
        if first is not child:
            message = f"{queue.path} has two queues {child.name!r}, the first in line {first.line}"
            yield Problem(child.at("name"), child.line, message, "give one of them another name", child.path)


def amounts_read(root: ConfiguredQueue) -> Iterator[Problem]:
    """Amounts in guaranteed and max that cannot be read."""
    return throughout(root, _amounts_of)


def _amounts_of(queue: ConfiguredQueue) -> Iterator[Problem]:
    for key, declared in (("guaranteed", queue.guaranteed), ("max", queue.maximum)):
        yield from bad_amounts(declared, f"{key} of {queue.path}", f"{queue.path} {key}")


def bad_amounts(resources: Resources | None, whose: str, subject: str) -> Iterator[Problem]:
    for name, amount in (resources or {}).items():
        if amount.value is None:
            at, meant = amount.written, _correction(name, amount.written.text)
            message, fix = apart(f"{whose}, {name}: {amount.fault}", CONF_FORM)
            fix = f"write {meant}" if meant else fix
            yield Problem(at.field, at.line, message, fix, f"{subject} {name}", write=meant)


def _correction(resource: str, text: str) -> str | None:
    """The amount that an invalid text certainly means, in the form of queues.yaml; None if it is not certain."""
    meant = correction(text)
    if meant is None:
        return None
    units, rest = divmod(Quantity.parse(meant).nano * (1000 if resource == VCORE else 1), 10**9)
    return next(
        (each for each in (meant, queue_amount(resource, units)) if not rest and _is_read(resource, each)), None
    )


def _is_read(resource: str, text: str) -> bool:
    try:
        conf_quantity(resource, text)
    except BadQuantity:
        return False
    return True


def node_sorting(partition: Partition) -> Iterator[Problem]:
    kind = partition.sort_type
    if kind.text not in SORT_TYPES:
        yield Problem(kind.field, kind.line, f"{kind.text!r} is not a node sort policy", "write fair or binpacking")
    for name, (written, weight) in partition.weights.items():
        if weight < 0:
            message = f"the weight of {name} is {written.text}, below 0"
            yield Problem(written.field, written.line, message, "write 0 or more", name)
