"""Checks whether a queue may move below another parent, by the rules and by current usage."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from policies.configuration.settings import Configuration
from policies.dialects.volcano import QUEUE, Queue, queue_ref
from policies.judge import evaluate
from policies.judging.rule import propose
from policies.model.change import Change
from policies.model.findings import Severity
from policies.model.forest import Forest
from policies.model.quantity import Quantity
from scheduling.volcano_queues.queue_object import TOP
from scheduling.volcano_queues.tree import VolcanoQueueTree

_MAX_LEVELS = 200  # of the search for ancestors; rules refuse a deeper tree anyway


def objections(tree: VolcanoQueueTree, name: str, source: str, target: str, configuration: Configuration) -> list[str]:
    """The findings against the move of a queue from one parent to another, as sentences; empty if it may move.

    The move is judged as a change from `source` to `target`, even if the queue is below `target` already. So the move
    can be checked again after the step. Violations that the move does not make worse do not count.
    """
    judged = [queue.judged for queue in tree.queues.values() if queue.judged is not None]
    here = next((queue for queue in judged if queue.name == name), None)
    if here is None:
        return [f"queue {name} does not exist"]
    before, after = (replace(here, parent=queue_ref(up), written_parent=up) for up in (source, target))
    forest = Forest.of((before if queue is here else queue for queue in judged), known=[QUEUE])
    verdict = evaluate(propose(forest, [Change(before, after)], configuration))
    found = [f"{each.finding.message} [{each.rule.id}]" for each in verdict.of(Severity.ERROR)]
    return found or [*_work_in_parent(tree, name, target), *_over_capability(tree, here, source, target)]


def _work_in_parent(tree: VolcanoQueueTree, name: str, target: str) -> list[str]:
    """Why the target cannot be a parent: it has work, and Volcano's scheduler stops if a parent queue has work."""
    held = 0 if target == TOP else tree.pod_groups(target)
    others = [child for child in tree.children(target) if child != name]
    if not held or others:
        return []
    number = "a PodGroup is" if held == 1 else f"{held} PodGroups are"
    return [f"{number} in queue {target}, and a queue with children takes no work [parent-with-workloads]"]


def _over_capability(tree: VolcanoQueueTree, queue: Queue, source: str, target: str) -> list[str]:
    """Why the allocated amounts of the queue do not fit below the new parent, beside those of its descendants."""
    held = tree.queues[queue.name].allocated
    counted = {source, *islice(tree.ancestors(source), _MAX_LEVELS)}
    found = []
    for name in (target, *islice(tree.ancestors(target), _MAX_LEVELS)):
        above = tree.queues.get(name)
        if name == TOP or name in counted or above is None or above.judged is None:
            continue
        for resource, limit in above.judged.enforced().items():
            more = held.get(resource, Quantity.ZERO)
            inside = above.allocated.get(resource, Quantity.ZERO)
            moved = tree.queues[queue.name].parent == target
            total = inside if moved else inside + more
            if more.nano and total > limit:
                found.append(
                    f"{resource}={more} runs in queue {queue.name}; with it queue {name} would hold {total}, and its"
                    f" capability is {limit.text}"
                )
    return found
