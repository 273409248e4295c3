"""YuniKorn's own tables of queue configurations: whole ones, single checks, ACLs, placement."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from policies.dialects.yunikorn_config import acl, dynamic, limits, placement, placement_checks, quotas, structure
from policies.dialects.yunikorn_config.decode import read_queue, read_rule
from policies.dialects.yunikorn_config.model import ConfiguredQueue, Limit, Partition, PlacementRule, Problem
from policies.dialects.yunikorn_config.placement import (
    ConfiguredPartition,
    QueuePlacement,
    Rejected,
    ReportedApplication,
)
from policies.dialects.yunikorn_config.reading import read_config
from policies.dialects.yunikorn_config.typed import Faults
from policies.dialects.yunikorn_config.validation import refusals
from policies.text.yaml_composer import first_document
from policies.text.yaml_nodes import Node
from tests.conformance import yunikorn_resources
from tests.conformance.suite import Data, Suite, mismatch, suite

Comparison = Callable[[Data, Data], "str | None"]

TABLES = ("core-config-yaml", "core-config-checks", "core-acl", "core-placement", "core-add-application")
NAMES = (*TABLES, "core-resources")


def suites(folder: Path) -> Iterator[Suite]:
    for name in TABLES:
        path = folder / "yunikorn" / f"{name}.json"
        yield suite("yunikorn", path, partial(_compared, name), partial(_why_not, name))
    yield yunikorn_resources.suite_of(folder / "yunikorn" / "core-resources.json")


def _compared(table: str, case: Data) -> str | None:
    check = _check(table, case["given"])
    assert check
    return check({**case["given"], "name": case["name"]}, case["expect"])


def _why_not(table: str, case: Data) -> str:
    if table == "core-placement" and _hides_a_state(case["given"], case["expect"]):
        return "the queue asked for is draining, which the case does not say"
    return "" if _check(table, case["given"]) else "a kind of case that is not known here"


def _check(table: str, given: Data) -> Comparison | None:
    if table == "core-config-checks":
        return _piece if given["check"] in PIECES else None
    if table == "core-acl":
        return {"parse": _acl_parsed, "access": _acl_access}.get(given["wants"])
    return {"core-config-yaml": _whole, "core-placement": _placed, "core-add-application": _added}[table]


def _verdict(expected: bool, problems: Iterable[Problem]) -> str | None:
    """`problems` are those that YuniKorn's own check would tell."""
    messages = [problem.message for problem in problems]
    return None if expected is not bool(messages) else f"expected valid: {expected}, got {messages}"


# -- whole configurations ----------------------------------------------------------------------------------------------


def _whole(given: Data, expect: Data) -> str | None:
    config = read_config(given["yaml"])
    differs = _verdict(expect["valid"], refusals(config))
    if differs or not expect["valid"]:
        return differs
    return mismatch(
        [_partition(p) for p in (expect["parsed"] or {}).get("partitions") or ()],
        [_loaded(p) for p in config.partitions],
    )


def _partition(parsed: Data) -> Data:
    """What we keep of a loaded partition."""
    return {
        "name": parsed["name"],
        "queues": parsed["queues"],
        "rules": [_without_empty_type(rule) for rule in parsed.get("placementrules", ())],
        "limits": parsed.get("limits", []),
        "resolver": parsed.get("usergroupresolver", {}).get("type", ""),
    }


def _without_empty_type(rule: Data) -> Data:
    rule = dict(rule)
    if "filter" in rule:
        rule["filter"] = {key: value for key, value in rule["filter"].items() if value}
    return rule


def _loaded(partition: Partition) -> Data:
    assert partition.root is not None
    return {
        "name": partition.name.text,
        "queues": [_queue(partition.root)],
        "rules": [_rule(rule) for rule in partition.rules],
        "limits": [_limit(limit) for limit in partition.limits],
        "resolver": partition.resolver.text,
    }


def _given(**values: Any) -> Data:
    return {key: value for key, value in values.items() if value}


def _texts(resources: Any) -> dict[str, str]:
    return {name: amount.written.text for name, amount in (resources or {}).items()}


def _queue(queue: ConfiguredQueue) -> Data:
    return {"name": queue.name} | _given(
        parent=queue.parent,
        resources=_given(guaranteed=_texts(queue.guaranteed), max=_texts(queue.maximum)),
        maxapplications=queue.max_applications,
        properties={key: value.text for key, value in queue.properties.items()},
        adminacl=queue.admin_acl.text,
        submitacl=queue.submit_acl.text,
        queues=[_queue(child) for child in queue.queues],
        limits=[_limit(limit) for limit in queue.limits],
    )


def _limit(limit: Limit) -> Data:
    return {"limit": limit.name} | _given(
        users=[user.text for user in limit.users],
        groups=[group.text for group in limit.groups],
        maxresources=_texts(limit.max_resources),
        maxapplications=limit.max_applications,
    )


def _rule(rule: PlacementRule) -> Data:
    users, groups = ([name.text for name in names] for names in (rule.filter.users, rule.filter.groups))
    return {"name": rule.name.text} | _given(
        create=rule.create,
        value=rule.value.text,
        parent=_rule(rule.parent) if rule.parent else None,
        filter=_given(type=rule.filter.type.text, users=users, groups=groups),
    )


# -- single checks, on a piece of a configuration ----------------------------------------------------------------------


def _node(piece: object) -> Node:
    """JSON is YAML."""
    node = first_document(json.dumps(piece))
    assert node is not None
    return node


def _whole_partition(piece: Data) -> Partition:
    (partition,) = read_config(json.dumps({"partitions": [piece]})).partitions
    return partition


def _of_queue(check: Callable[[ConfiguredQueue], Iterable[Problem]]) -> Callable[[Data], Iterable[Problem]]:
    return lambda given: check(read_queue(_node(given["queue"]), "", Faults()))


def _quotas(root: ConfiguredQueue) -> Iterator[Problem]:
    yield from structure.amounts_read(root)
    yield from quotas.guaranteed_above_max(root)
    yield from quotas.max_above_parent(root)
    yield from quotas.guaranteed_above_queue(root)


def _limits_down(root: ConfiguredQueue) -> Iterator[Problem]:
    for queue in root.walk():
        for limit in queue.limits:
            yield from structure.bad_amounts(limit.max_resources, queue.path, queue.path)
    yield from limits.limits_exceeding_ancestor(root)


def _queue_limits(queue: ConfiguredQueue) -> Iterator[Problem]:
    yield from limits.limits_by_themselves(queue.limits, queue.path)
    yield from limits.limits_exceeding_queue(queue)


def _queues(root: ConfiguredQueue) -> Iterator[Problem]:
    yield from structure.queue_structure(root)
    for queue in root.walk():
        yield from _queue_limits(queue)


def _structure(given: Data) -> Iterator[Problem]:
    partition = _whole_partition(given["partition"])
    yield from structure.partition_structure(partition)
    if partition.root is not None:
        yield from _queues(partition.root)


def _filter(given: Data) -> Iterable[Problem]:
    rule = read_rule(_node({"name": "user", "filter": given["filter"]}), "", Faults())
    return placement_checks.rule_filter(rule.filter)


def _one_rule(given: Data) -> Iterator[Problem]:
    for rule in read_rule(_node(given["rule"]), "", Faults()).chain():
        yield from placement_checks.rule_by_itself(rule)


PIECES: dict[str, Callable[[Data], Iterable[Problem]]] = {
    "queueResources": _of_queue(_quotas),
    "queueMaxApplications": _of_queue(quotas.applications_above_queue),
    "limitResources": _of_queue(_limits_down),
    "limitMaxApplications": _of_queue(limits.limits_exceeding_ancestor),
    "queueLimits": _of_queue(_queue_limits),
    "queues": _of_queue(_queues),
    "queuesStructure": _structure,
    "limitsStructure": lambda given: structure.partition_structure(_whole_partition(given["partition"])),
    "nodeSortingPolicy": lambda given: structure.node_sorting(_whole_partition(given["partition"])),
    "placementRule": _one_rule,
    "placementRules": lambda given: placement_checks.placement_rules(_whole_partition(given["partition"])),
    "placementFilter": _filter,
}


def _piece(given: Data, expect: Data) -> str | None:
    found = [problem for problem in PIECES[given["check"]](given) if not problem.accepted]
    differs = _verdict(expect["valid"], found)
    if differs or "partition" not in expect:
        return differs
    root = _whole_partition(given["partition"]).root
    wanted = [queue.get("limits", []) for queue in expect["partition"]["queues"]]
    return mismatch(wanted, [[_limit(limit) for limit in root.limits] if root else []])


# -- ACLs --------------------------------------------------------------------------------------------------------------


def _acl_parsed(given: Data, expect: Data) -> str | None:
    try:
        loaded = acl.load(given["acl"])
    except acl.BadAcl:
        return mismatch(expect["valid"], False)
    got = {"valid": True, "users": sorted(loaded.users), "groups": sorted(loaded.groups)}
    return mismatch(expect, {**got, "allAllowed": loaded.everybody})


def _acl_access(given: Data, expect: Data) -> str | None:
    return mismatch(expect["allowed"], acl.load(given["acl"]).allows(given["user"], given["groups"] or ()))


# -- placement ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Alone:
    """A rule asked by itself: the path that it gives, or why it fails."""

    rule: PlacementRule
    queues: ConfiguredPartition

    def place(self, application: ReportedApplication) -> QueuePlacement:
        try:
            return QueuePlacement(placement.candidate(self.rule, self.queues, application))
        except Rejected as error:
            return QueuePlacement(reason=str(error))


def application(given: Data) -> ReportedApplication:
    return ReportedApplication(given["queue"], given["user"], tuple(given["groups"] or ()), given["tags"] or {})


def rules(given: Iterable[Data] | None) -> list[PlacementRule]:
    return [read_rule(_node(rule), "", Faults()) for rule in given or ()]


def _hides_a_state(given: Data, expect: Data) -> bool:
    """Rejected though it asks for an open leaf by a rule without conditions: only a state explains that."""
    partition, asked = read_config(given["queuesYaml"]).partition, application(given["application"])
    if expect["queue"] or partition is None or not asked.queue.startswith("root."):
        return False
    queues = ConfiguredPartition(partition)
    open_to_it = queues.is_leaf(asked.queue) and queues.may_submit(asked.queue, asked)
    return open_to_it and any(rule["name"] == "provided" and "filter" not in rule for rule in given["rules"] or ())


def _placed(given: Data, expect: Data) -> str | None:
    partition = read_config(given["queuesYaml"]).partition
    assert partition is not None
    queues, chain = ConfiguredPartition(partition), rules(given["rules"])
    whole = given["name"].startswith(("TestManager", "TestForcePlaceApp")) or len(chain) != 1
    if whole:
        got = placement.placed(chain, queues, application(given["application"]))
    else:
        got = _Alone(chain[0], queues).place(application(given["application"]))
    return mismatch((expect["queue"], expect["error"] is not None), (got.queue, bool(got.reason)))


# -- an application that comes to a tree -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Running:
    """The queues of a case, by path; root may be used by everybody."""

    queues: dict[str, Data]

    @classmethod
    def of(cls, tree: Data) -> _Running:
        found: dict[str, Data] = {}
        waiting = [tree]
        while waiting:
            queue = waiting.pop()
            found[queue["path"].lower()] = queue
            waiting += queue["children"]
        return cls(found)

    def exists(self, path: str) -> bool:
        return path.lower() in self.queues

    def is_leaf(self, path: str) -> bool:
        return bool(self.queues.get(path.lower(), {}).get("leaf"))

    def may_submit(self, path: str, application: ReportedApplication) -> bool:
        return True

    def leaf(self, path: str) -> dynamic.Leaf:
        queue = self.queues.get(path.lower(), {})
        managed = bool(queue.get("managed"))
        return dynamic.Leaf(path, managed, queue.get("max"), queue.get("guaranteed"), queue.get("maxRunningApps", 0))

    def maxima(self, path: str) -> list[Any]:
        """Of the queues above the leaf, without root."""
        steps = path.split(".")
        return [self.queues.get(".".join(steps[:n]).lower(), {}).get("max") for n in range(2, len(steps))]


def _added(given: Data, expect: Data) -> str | None:
    queues, coming = _Running.of(given["tree"]), application(given["application"])
    got = placement.placed(rules(given["rules"]), queues, coming)
    if not got.queue:
        return mismatch((expect["added"], expect["applicationQueue"], expect["queue"]), (False, "", None))
    leaf = dynamic.with_tags(queues.leaf(got.queue), coming)
    gang = given["application"].get("taskGroupRequest") or {}
    refused = dynamic.gang_excess([*queues.maxima(got.queue), leaf.maximum], gang)
    queue = {
        "path": leaf.path,
        "leaf": True,
        "managed": leaf.managed,
        "max": leaf.maximum,
        "guaranteed": leaf.guaranteed,
        "maxRunningApps": leaf.max_applications,
    }
    return mismatch((expect["added"], expect["queue"]), (not refused, queue))
