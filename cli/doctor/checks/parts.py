"""Checks the parts (shards) of a cluster: a reconciler must run for each part that a root names or that decides now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from cli.doctor.checks.leases import holder_of, is_active, lease_of_process, observes
from cli.doctor.part_trees import PartNode, PartTree, read_node, topology_flavor_name, trees
from cli.doctor.target import CheckedCluster, CheckResult, HealthState, check, failure, ok, part_of, skipped, warning
from cli.output import first_of, some
from cluster.errors import NotFound
from cluster.resource import LEASES
from policies.dialects.reading import metadata
from reconciler.objects.watched import CLUSTER_QUEUES, COHORTS, FLAVORS
from reconciler.shards.claims import DEFAULT, LABEL, NOBODY, lease_of, valid

_SHOWN = 4
_MOST = 10
"""The maximum number of results of each kind; the rest are counted."""
_LONGEST_HANDOVER = timedelta(minutes=5)
"""The maximum duration of a handover, which needs two writes for each ClusterQueue and one list of all Workloads."""


@dataclass(frozen=True, slots=True)
class RunningParts:
    """The parts that run. `live`: a part to the holder of its Lease. `deployed`: the parts with a Deployment."""

    live: Mapping[str, str]
    deployed: frozenset[str] = frozenset()


@check("parts", "A reconciler runs for every part (shard) that a root names or that holds ClusterQueues.")
def parts(target: CheckedCluster) -> Iterator[CheckResult]:
    if observes(target):
        yield skipped("", "the reconciler runs with --mode observe, and decides for nothing")
        return

    nodes: list[PartNode] = []
    with_topology: list[str] = []
    for resource in (COHORTS, CLUSTER_QUEUES):
        try:
            nodes += target.cluster.snapshot(resource, read_node).items
        except NotFound:
            continue  # the check crds reports it
    with suppress(NotFound):
        with_topology += target.cluster.snapshot(FLAVORS, topology_flavor_name).items
    yield from check_parts(nodes, _running(target), target.now(), with_topology)


def _running(target: CheckedCluster) -> RunningParts:
    usual = lease_of_process(target.reconciler_deployment, target.names.reconciler_lease)
    live: dict[str, str] = {}
    for lease in target.cluster.list(LEASES, namespace=usual.namespace):
        name = str(metadata(lease).get("name"))
        part = DEFAULT if name == usual.name else name.removeprefix(f"{usual.name}-")
        if name == lease_of(usual.name, part) and is_active(lease, target.now()):
            live[part] = holder_of(lease)
    return RunningParts(live, frozenset(map(part_of, target.part_deployments.values())))


def check_parts(
    nodes: Sequence[PartNode], running: RunningParts, now: datetime, with_topology: Iterable[str] = ()
) -> Iterator[CheckResult]:
    """Check all parts and trees. `with_topology`: the flavors that name a Topology."""
    every = list(trees(nodes, filter(None, with_topology)))
    wanted = {tree.wanted for tree in every if tree.wanted and valid(tree.wanted)}
    holding = {holder for tree in every for holder in tree.holders} - {NOBODY}
    labelled = [each for each in nodes if each.label]
    names = {*running.live, *running.deployed, *holding, *wanted}
    if names <= {DEFAULT} and not labelled:
        yield skipped("", "no root names a part: one reconciler decides for all trees")
        return
    yield from (_of_part(part, every, running) for part in sorted(names))
    yield from _first(_label_result(each) for each in labelled if each.parent or not valid(each.label))
    yield from _first(_topology_result(tree.root, tree.placed) for tree in every if tree.root and _is_overruled(tree))
    yield from _first(each for tree in every for each in _of_tree(tree, running.live, now))


def _of_part(part: str, every: Sequence[PartTree], running: RunningParts) -> CheckResult:
    subject = f"part {part}"
    held = [each.name for tree in every for each in tree.queues if each.claim.part == part]
    roots = [str(tree.root) for tree in every if tree.wanted == part and tree.root]
    start = f"start it: `quotree serve reconciler --part {part}`, as manifests/components/reconciler-part does"
    if holder := running.live.get(part):
        if not held and not roots and part != DEFAULT:
            fix = f"kubectl label cohort ROOT {LABEL}={part}, or remove its Deployment"
            return warning(subject, f"runs ({holder}), and no root names it, so it decides for nothing", fix)
        return ok(subject, f"runs ({holder}), and holds {some(len(held), 'ClusterQueue')}")
    if held:
        fix = (
            "see reconciler-lease"
            if part == DEFAULT
            else f"{start}; it hands over the queues of roots that do not name it"
        )
        message = (
            f"it does not run, and it holds {first_of(held, _SHOWN)}: nothing is admitted there, and no other part may"
        )
        return failure(subject, message, fix)
    if part in running.deployed:
        return failure(subject, "no replica holds its Lease", "see replicas, rbac, and the logs of its Pods")
    if part == DEFAULT:
        return warning(subject, "it does not run, and it has all trees without a label", "see reconciler-lease")
    fix = f"{start}; or take the label off: kubectl label {_written(roots[0])} {LABEL}-"
    message = (
        f"it does not run, and is named by {first_of(roots, _SHOWN)}: a part that holds the whole tree still decides"
    )
    return warning(subject, message, fix)


def _label_result(node: PartNode) -> CheckResult:
    if not valid(node.label):
        message = (
            f"names the part {node.label}, and no part can have that name: the part that holds the tree still decides"
        )
        fix = "use at most 40 lower-case letters, digits and hyphens, with a letter or digit at both ends"
        return warning(f"{node}: {LABEL}", message, fix)
    fix = f"label the root of the tree instead, and take this label off: kubectl label {_written(str(node))} {LABEL}-"
    return warning(f"{node}: {LABEL}", f"has no effect: it is below Cohort {node.parent}, and only a root counts", fix)


def _is_overruled(tree: PartTree) -> bool:
    return bool(tree.placed and tree.root and valid(tree.root.label) and tree.root.label != DEFAULT)


def _topology_result(root: PartNode, queue: str) -> CheckResult:
    message = f"has no effect: ClusterQueue {queue} has a flavor with a topology, and {DEFAULT} decides for such trees"
    fix = f"take the label off: kubectl label {_written(str(root))} {LABEL}-; or move {queue} to another tree"
    return warning(f"{root}: {LABEL}", message, fix)


def _of_tree(tree: PartTree, live: Mapping[str, str], now: datetime) -> Iterator[CheckResult]:
    """Results for a tree for which no part decides. `_of_part` reports parts that do not run."""
    for each in tree.queues:
        if each.claim.part == NOBODY:
            fix = f"leave one of them: kubectl edit clusterqueue {each.name} --subresource=status"
            message = f"its status has the conditions of two parts, so no part decides for the tree of {tree.name}"
            yield failure(str(each), message, fix)
    wanted, holders = tree.wanted, tree.holders - {NOBODY}
    away = [each for each in tree.queues if each.claim.part not in (wanted, NOBODY)]
    if wanted is None or not away:
        return
    if wanted not in live:
        if len(holders) > 1:
            message = (
                f"parts {' and '.join(sorted(holders))} hold it, and part {wanted}, which its root names, does not run"
            )
            yield failure(
                f"tree of {tree.name}", f"{message}: no part decides", f"start {wanted}, or label the root anew"
            )
        return
    if not holders <= live.keys():
        return  # one of the holders does not run; `_of_part` reports that
    yield _handover_result(tree, away, wanted, now)


def _handover_result(tree: PartTree, away: Sequence[PartNode], wanted: str, now: datetime) -> CheckResult:
    subject, parts = f"tree of {tree.name}", " and ".join(sorted({each.claim.part for each in away}))
    requested = [each.requested for each in away if each.requested]
    if len(requested) < len(away):
        fix = f"look again in a minute; else see the logs of part {wanted}, and rbac"
        return warning(subject, f"part {wanted} has not requested every ClusterQueue that {parts} still holds", fix)
    if now - min(requested) > _LONGEST_HANDOVER:
        since = f"{min(requested):%Y-%m-%d %H:%M:%S} UTC"
        message = f"part {wanted} has requested it from {parts} since {since}: no part decides"
        return warning(subject, message, f"see the logs of {parts}: one of its writes may be stuck")
    return ok(subject, f"{parts} hands it over to {wanted}")


def _first(results: Iterable[CheckResult]) -> Iterator[CheckResult]:
    """The most severe results, and one that counts the others."""
    order = (HealthState.FAILURE, HealthState.WARNING, HealthState.SKIPPED, HealthState.OK)
    every = sorted(results, key=lambda each: order.index(each.state))
    yield from every[:_MOST]
    if rest := every[_MOST:]:
        yield CheckResult(rest[0].state, "", f"and {len(rest)} more like these", rest[0].fix)


def _written(node: str) -> str:
    """The node as arguments of kubectl, such as `cohort company`."""
    kind, _, name = node.partition(" ")
    return f"{kind.lower()} {name}"
