"""The requests, refusals and output of vcctl for queues, word for word, so that scripts that use it keep working.

Source: Volcano, pkg/cli/queue.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from policies.dialects.reading import Manifest, mapping, metadata, text
from policies.dialects.volcano import ROOT
from scheduling.volcano_queues.states import QueueAction

PHASES = ("Inqueue", "Pending", "Running", "Unknown", "Completed")
"""The phases of a PodGroup in the order of the table."""
_ACTIONS = {"open": QueueAction.OPEN, "close": QueueAction.CLOSE}
_HEAD = ("Name", "Weight", "State", "Parent", *PHASES)


class BadRequest(ValueError):
    """A request that vcctl refuses, with its message."""


def check_name(name: str) -> None:
    """Check that the name is not empty. Raises BadRequest."""
    if not name:
        raise BadRequest("queue name must be specified")


def requested(name: str, action: str, weight: int = 0) -> QueueAction | int:
    """The action to request by a Command, or the weight to write. Raises BadRequest."""
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


def new_queue(name: str, weight: int, parent: str) -> Manifest:
    """The Queue to create. The webhook fills in an empty parent. Raises BadRequest."""
    check_name(name)
    spec = {"weight": weight, **({"parent": parent} if parent else {})}
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def children_of(queues: Iterable[Manifest], name: str) -> list[Manifest]:
    """The children of this queue, by name. A queue without a parent is a child of root."""
    below = (queue for queue in queues if _parent(queue) == name)
    return sorted(below, key=_name)


def drawn(queues: Iterable[Manifest], top: str = ROOT.name) -> Iterator[str]:
    """Yield a line for each queue of the subtree, with its state. A cycle is drawn once."""
    below: dict[str, list[Manifest]] = {}
    states: dict[str, str] = {}
    for queue in sorted(queues, key=_name):
        below.setdefault(_parent(queue), []).append(queue)
        states[_name(queue)] = _state(queue)
    seen: set[str] = set()
    rest = [(top, "", "")]
    while rest:
        name, before, indent = rest.pop()
        seen.add(name)
        yield f"{before}{name} ({states.get(name) or 'no state'})"
        children = [each for queue in below.get(name, ()) if (each := _name(queue)) not in seen]
        for child in reversed(children):
            last = child == children[-1]
            rest.append((child, f"{indent}{'└─ ' if last else '├─ '}", f"{indent}{'   ' if last else '│  '}"))


def counts_by_queue(pod_groups: Iterable[Manifest]) -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = {}
    for pod_group in pod_groups:
        queue = text(mapping(pod_group.get("spec")).get("queue")) or ""
        phase = text(mapping(pod_group.get("status")).get("phase")) or ""
        counts.setdefault(queue, Counter())[phase] += 1
    return counts


def listed(queues: Iterable[Manifest], counts: Mapping[str, Mapping[str, int]]) -> str:
    """The table of `vcctl queue list`: a line for each queue, in the given order."""
    queues = list(queues)
    if not queues:
        return "No resources found\n"
    return "".join([_line(*_HEAD), *(_line(*_cells(queue, counts)) for queue in queues)])


def _name(queue: Manifest) -> str:
    return text(metadata(queue).get("name")) or ""


def _parent(queue: Manifest) -> str:
    """The parent of the queue; empty for root."""
    parent = text(mapping(queue.get("spec")).get("parent")) or ROOT.name
    return "" if _name(queue) == ROOT.name else parent


def _state(queue: Manifest) -> str:
    return text(mapping(queue.get("status")).get("state")) or ""


def _cells(queue: Manifest, counts: Mapping[str, Mapping[str, int]]) -> Iterable[object]:
    name, spec = _name(queue), mapping(queue.get("spec"))
    of_phase = counts.get(name, {})
    yield from (name, spec.get("weight") or 0, _state(queue), text(spec.get("parent")) or "")
    yield from (of_phase.get(phase, 0) for phase in PHASES)


def _line(name: object, *cells: object) -> str:
    return f"{name!s:<25}{''.join(f'{cell!s:<8}' for cell in cells)}\n"
