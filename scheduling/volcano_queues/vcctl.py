"""What vcctl asks of a queue, refuses and prints, word for word, so that its scripts go on.

Source: Volcano, pkg/cli/queue.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from policies.dialects.reading import Manifest, mapping, metadata, text
from scheduling.volcano_queues.states import QueueAction

PHASES = ("Inqueue", "Pending", "Running", "Unknown", "Completed")
"""The phases of a PodGroup in the order of the table."""
_ACTIONS = {"open": QueueAction.OPEN, "close": QueueAction.CLOSE}
_HEAD = ("Name", "Weight", "State", "Parent", *PHASES)


class BadRequest(ValueError):
    """What vcctl refuses, in its words."""


def check_name(name: str) -> None:
    """Check that a queue is named. Raises BadRequest."""
    if not name:
        raise BadRequest("queue name must be specified")


def requested(name: str, action: str, weight: int = 0) -> QueueAction | int:
    """The action to be asked for by a Command, or the weight to be written. Raises BadRequest."""
    check_name(name)
    if action == "update":
        if weight == 0:
            text = f"when update queue {name}, weight must be specified, the value must be greater than 0"
            raise BadRequest(text)
        return weight
    if not action:
        raise BadRequest("action can not be null")
    if action not in _ACTIONS:
        raise BadRequest(f"action {action} invalid, valid actions are open, close and update")
    return _ACTIONS[action]


def counts_by_queue(pod_groups: Iterable[Manifest]) -> dict[str, Counter[str]]:
    """How many PodGroups each queue has in each phase."""
    counts: dict[str, Counter[str]] = {}
    for pod_group in pod_groups:
        queue = text(mapping(pod_group.get("spec")).get("queue")) or ""
        phase = text(mapping(pod_group.get("status")).get("phase")) or ""
        counts.setdefault(queue, Counter())[phase] += 1
    return counts


def listed(queues: Iterable[Manifest], counts: Mapping[str, Mapping[str, int]]) -> str:
    """The table of vcctl queue list: a line for each queue, in the order in which they come."""
    queues = list(queues)
    if not queues:
        return "No resources found\n"
    return "".join([_line(*_HEAD), *(_line(*_cells(queue, counts)) for queue in queues)])


def _cells(queue: Manifest, counts: Mapping[str, Mapping[str, int]]) -> Iterable[object]:
    name, spec = text(metadata(queue).get("name")) or "", mapping(queue.get("spec"))
    state = text(mapping(queue.get("status")).get("state")) or ""
    of_phase = counts.get(name, {})
    yield from (name, spec.get("weight") or 0, state, text(spec.get("parent")) or "")
    yield from (of_phase.get(phase, 0) for phase in PHASES)


def _line(name: object, *cells: object) -> str:
    return f"{name!s:<25}{''.join(f'{cell!s:<8}' for cell in cells)}\n"
