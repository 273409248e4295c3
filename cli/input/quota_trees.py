"""The trees of files or of a cluster, with what is in use: what `quotree tree` draws, and the same as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from analysis.context import Context
from analysis.simulation import Simulations
from cli.exits import OutOfReach
from cli.input import elsewhere
from cli.input.against import Against
from cli.input.context import load
from cli.input.settings import settings
from cli.output import note
from cli.report.quotas import with_quota
from cli.report.simulations.usage import NamespacesInUse, Users
from cli.report.tree_json import namespace_entry, node_entry
from cli.report.tree_view import ALL, ShownTree
from cli.report.trees import cycles, walk
from policies.configuration.settings import Configuration, YuniKornSettings
from policies.dialects import kueue
from policies.dialects.declared import DECLARED
from policies.dialects.yunikorn import PARENT_QUEUE
from policies.model.forest import Forest
from scheduling.volcano.world import SessionWorld as Volcano
from scheduling.world.world import World
from scheduling.yunikorn.as_json import queue_node
from scheduling.yunikorn.simulation import YuniKornSimulation as YuniKorn
from scheduling.yunikorn.usage import applications_below


def of_cluster(against: Against) -> dict[str, Any]:
    """All trees of a cluster with their use, as JSON. Raises OutOfReach."""
    context = context_of(against)
    return answer(context.world, context, users(against, context.world))


def context_of(against: Against) -> Context:
    """The context; empty for files, which are read together with the inputs."""
    if not against.of_cluster:
        return Context(against, Forest(frozenset(DECLARED)))
    return load(against, Configuration(yunikorn=YuniKornSettings(follow=False)))  # its objects are not drawn


def users(against: Against, forest: Forest) -> Users:
    """What uses the queues of a cluster, as far as the caller may read it."""
    return Users(_usage(against, forest), *_usage_of_others(against))


def users_of(played: Simulations) -> Users:
    """The engines of the projects that have work; YuniKorn's is included if it is configured."""
    world, volcano, yunikorn = played.kueue.world, played.volcano, played.yunikorn
    return Users(
        world if world.workloads else None,
        volcano.engine.world if volcano.has_work else None,
        yunikorn if yunikorn.has_work or yunikorn.intake.configured else None,
    )


def _usage(against: Against, forest: Forest) -> World | None:
    """What uses the queues of the cluster; None without queues of Kueue, and where you may not read it."""
    if against.kind not in ("cluster", "snapshot") or not any(node.ref.group == kueue.GROUP for node in forest.nodes()):
        return None
    from cli.input.snapshot import read  # here, since it takes long to load and files have no usage

    try:
        return read(against)
    except OutOfReach as error:
        note(f"the usage is left out: {error.message}")
        return None


def _usage_of_others(against: Against) -> tuple[Volcano | None, YuniKorn | None]:
    """What uses the queues of Volcano and YuniKorn in the cluster; None where nothing does."""
    if against.kind != "cluster":
        return None, None
    found = elsewhere.of_cluster(against, settings(None, (), None))
    return (
        found.volcano.engine.world if found.volcano.has_work else None,
        found.yunikorn if found.yunikorn.has_work else None,
    )


def answer(forest: Forest, context: Context, use: Users, view: ShownTree = ALL) -> dict[str, Any]:
    """The answer in the form of docs/schemas/tree.schema.json."""
    drawn = view.drawn(forest)
    quotas = use.quotas(forest, [each.ref for each in (drawn if view.whole else walk(forest))])
    return {
        "apiVersion": "quotree.dev/v1alpha1",
        "kind": "Tree",
        "context": {"against": context.against.kind, "name": context.against.name},
        "nodes": [
            *(node_entry(forest, quotas[each.ref.group], each) for each in drawn),
            *_yunikorn_json(forest, use, view),
        ],
        "cycles": [[ref.name for ref in cycle] for cycle in cycles(forest)],
    }


def merged(answers: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """The answers of several roots as one, in which each node names its root."""
    if len(answers) == 1:
        return answers[0][1]
    nodes = [{**node, "root": name} for name, each in answers for node in each["nodes"]]
    return {**answers[0][1], "nodes": nodes, "cycles": [cycle for _, each in answers for cycle in each["cycles"]]}


def _yunikorn_json(forest: Forest, use: Users, view: ShownTree) -> Iterator[dict[str, Any]]:
    if use.yunikorn is not None:
        counts, queues = applications_below(use.yunikorn.scheduler), use.yunikorn.scheduler.tree.root.walk()
        yield from (queue_node(queue, counts[queue]) for queue in queues if view.shows_queue(queue.path))
    spaces = NamespacesInUse(use.yunikorn) if use.yunikorn is not None and use.yunikorn.has_work else None
    for namespace, quota in with_quota(forest):
        name, parent = namespace.ref.name, namespace.annotations.get(PARENT_QUEUE)
        if not view.shows_namespace(name):
            continue
        if spaces is None:
            yield namespace_entry(namespace.ref, parent, quota)
        else:
            yield namespace_entry(namespace.ref, parent, spaces.rows(name, quota), spaces.applications(name))
