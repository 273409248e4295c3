"""Lists the settings of a queues.yaml for which Kueue's objects have no field."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from policies.dialects.labels import is_qualified_name
from policies.dialects.yunikorn import VCORE
from policies.dialects.yunikorn_config.model import ConfiguredQueue, Partition, PlacementRule, Resources, Text, amounts
from policies.dialects.yunikorn_config.resources import is_positive
from policies.migration.model import NotKept
from policies.model import fields

_DEAD = ("cpu", "cpus", "vcpu", "vcores")
"""Types that no pod requests, since YuniKorn counts CPU as vcore."""
_TIMING = ("Kueue has no such delay", "nothing: Kueue reclaims in the next cycle")
_PROPERTIES: Mapping[str, tuple[Callable[[str], bool], str, str]] = {
    "application.sort.policy": (
        lambda value: value == "fair",
        "Kueue takes the work of a queue by priority and age",
        "set admissionScope to UsageBasedAdmissionFairSharing, which orders by LocalQueue",
    ),
    "application.sort.priority": (
        lambda value: value == "disabled",
        "Kueue always takes the higher priority first",
        "give the jobs one WorkloadPriorityClass",
    ),
    "application.unschedasks.backoff": (lambda value: value != "0", "Kueue waits for capacity instead", "nothing"),
    "application.unschedasks.backoff.delay": (lambda _: True, *_TIMING),
    "priority.policy": (
        lambda value: value == "fence",
        "priorities count in the whole tree in Kueue",
        "use WorkloadPriorityClasses of one range in this part of the tree",
    ),
    "priority.offset": (
        lambda value: value.lstrip("+-0") != "",
        "Kueue has no priority of queues",
        "give the jobs a WorkloadPriorityClass whose value is higher by this",
    ),
    "preemption.policy": (
        lambda value: value in ("fence", "disabled"),
        "in Kueue any queue of the tree may reclaim what it lent, from any that borrows",
        "set borrowingLimit to 0 where nobody may be preempted; make a tree of its own for a fence",
    ),
    "preemption.delay": (lambda _: True, *_TIMING),
    "quota.preemption.delay": (
        lambda _: True,
        "Kueue does not preempt when a quota is lowered",
        "stop the work above the quota by hand, or let a lender reclaim it",
    ),
}
"""The properties: a test for values other than the default, why it cannot be migrated, and what to do instead."""


def is_counted(resource: str) -> bool:
    """Whether pods request the resource, and Kueue can count it."""
    return resource not in _DEAD and is_qualified_name(resource)


def lost_of_partition(partition: Partition) -> Iterator[NotKept]:
    called = f"partition {partition.called}"
    for rule in partition.rules:
        yield from _of_rule(rule, called)
    if partition.sort_type or partition.weights:
        why = "Kueue does not place pods on nodes"
        yield NotKept(called, "nodesortpolicy", why, "configure kube-scheduler")
    if partition.quota_preemption:
        why = "Kueue does not preempt when a quota is lowered"
        yield NotKept(called, "preemption.quotapreemptionenabled", why, "stop the work above the quota by hand")
    if not partition.preempts:
        why = "it is off, so no queue reclaims in Kueue either"
        yield NotKept(called, "preemption.enabled", why, "set reclaimWithinCohort where guarantees count")
    if partition.root is not None and partition.limits and partition.limits != partition.root.limits:
        yield NotKept(called, "limits", *_LIMITS)


def _of_rule(top: PlacementRule, called: str) -> Iterator[NotKept]:
    for rule in top.chain():
        name = rule.kind
        if name == "user":
            why, instead = "Kueue does not know who submits", "make a LocalQueue in a namespace of each user"
        elif name == "provided":
            why = "pods may name any queue; there is a LocalQueue only where a Pod in the input does"
            instead = "make a LocalQueue in each namespace that submits"
        elif rule.create:
            why = "queues were made for the Namespaces in the input; later ones get none"
            instead = "make a ClusterQueue and a LocalQueue with each new Namespace"
        else:
            continue
        yield NotKept(called, rule.field, why, instead)
        if rule.filter.users or rule.filter.groups:
            why = "Kueue does not know who submits, and the rule counts as one for nobody in particular"
            yield NotKept(called, f"{rule.field}.filter", why, "let RBAC say who may submit in a namespace")


_LIMITS = ("Kueue has no limits for users or groups", "make a ClusterQueue, or a namespace with a LocalQueue, for each")


def lost_of_queue(queue: ConfiguredQueue) -> Iterator[NotKept]:
    called = f"queue {queue.path.lower()}"
    for field, why, instead in _of_queue(queue):
        yield NotKept(called, field, why, instead)


def _of_queue(queue: ConfiguredQueue) -> Iterator[tuple[str, str, str]]:
    if queue.max_applications:
        yield "maxapplications", "Kueue does not count workloads", "limit `pods` in the quota"
    if queue.limits:
        yield "limits", *_LIMITS
    for key, acl in (("submitacl", queue.submit_acl), ("adminacl", queue.admin_acl)):
        if acl.text.strip() not in ("", "*"):
            yield key, "Kueue has no such list", "let RBAC say who may create jobs in the namespaces with a LocalQueue"
    if queue.template is not None:
        why = "it shaped the queues of the Namespaces in the input; later ones get none"
        yield "childtemplate", why, "copy it into each new ClusterQueue"
    yield from _properties(queue.properties)
    for field, resources in (("resources.guaranteed", queue.guaranteed), ("resources.max", queue.maximum)):
        yield from _amounts(field, resources)
    if amounts(queue.maximum) and not is_positive(amounts(queue.maximum)):
        yield "resources.max", "YuniKorn drops a max of only zeros: no limit", "set stopPolicy to Hold to keep work out"


def _properties(properties: Mapping[str, Text]) -> Iterator[tuple[str, str, str]]:
    for key, value in properties.items():
        says, why, instead = _PROPERTIES.get(key, (lambda _: True, "Kueue does not know it", "nothing"))
        if says(value.text.strip()):
            yield fields.join("properties", key), why, instead


def _amounts(field: str, resources: Resources | None) -> Iterator[tuple[str, str, str]]:
    for name, amount in (resources or {}).items():
        at = fields.join(field, name)
        if amount.value is None:
            yield at, amount.fault, "correct it, then migrate again"
        elif not is_counted(name):
            why = f"no pod requests {name}" + (f"; CPU is {VCORE}" if name in _DEAD else "")
            yield at, why, "nothing: it had no effect"
