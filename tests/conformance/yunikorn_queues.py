"""YuniKorn's own tables of its queues: max, headroom, what fits, and the amounts that preemption reckons with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from pathlib import Path
from typing import Any

from policies.dialects.yunikorn_config.resources import YuniKornAmounts, least
from scheduling.yunikorn.queue import OverMaximum, OverReleased, YuniKornQueue, YuniKornQueueSettings
from tests.conformance.suite import Data, Suite, mismatch, suite
from tests.conformance.yunikorn_arithmetic import Level, minus_existing, preemptable, remaining_guaranteed

NAMES = ("core-queue", "core-preemption-amounts")


def suites(folder: Path) -> Iterator[Suite]:
    for name, (answers, check) in _TABLES.items():
        yield suite(
            "yunikorn", folder / "yunikorn" / f"{name}.json", check, lambda case, known=answers: _why(case, known)
        )


def _why(case: Data, known: dict[str, Any]) -> str:
    operation = case["given"]["op"]
    return "" if operation in known else f"an operation that is not known here: {operation}"


# -- queues ------------------------------------------------------------------------------------------------------------


def _queue(data: Data, parent: YuniKornQueue | None, found: dict[str, YuniKornQueue]) -> None:
    settings = YuniKornQueueSettings(
        path=data["path"],
        leaf=data["leaf"],
        managed=data["managed"],
        maximum=data["max"],
        guaranteed=data["guaranteed"],
        max_applications=data["maxRunningApps"],
    )
    queue = YuniKornQueue(settings, parent, is_cluster=parent is None)
    queue.accounts.update(allocated=data["allocated"] or {}, preempting=data["preempting"] or {})
    queue.running = data["runningApps"] + data["allocatingAcceptedApps"]
    found[queue.path] = queue
    for child in data["children"]:
        _queue(child, queue, found)


def _fails(change: Callable[[], None]) -> bool:
    try:
        change()
    except (OverMaximum, OverReleased):
        return True
    return False


def _below_top(queue: YuniKornQueue) -> list[YuniKornQueue]:
    return list(queue.up())[:-1]


def _maximum(queue: YuniKornQueue) -> YuniKornAmounts | None:
    return queue.settings.maximum


def _left(queue: YuniKornQueue) -> YuniKornAmounts | None:
    return minus_existing(queue.settings.maximum, queue.allocated)


def _least(path: Iterable[YuniKornAmounts | None]) -> YuniKornAmounts | None:
    """The smallest amount of each type on the path; None where no queue has amounts."""
    named = [amounts for amounts in path if amounts is not None]
    return reduce(least, named) if named else None


OPERATIONS: dict[str, Callable[..., Any]] = {
    "getHeadRoom": lambda queue: _least(map(_left, queue.up())),
    "getMaxHeadRoom": lambda queue: _least(map(_left, _below_top(queue))),
    "GetMaxResource": lambda queue: _least(map(_maximum, queue.up())),
    "GetMaxQueueSet": lambda queue: _least(map(_maximum, _below_top(queue))),
    "GetFairMaxResource": lambda queue: queue.fair_maximum(),
    "allocatedResFits": lambda queue, amounts: queue.fits(amounts or {}),
    "canRunApp": lambda queue, _: queue.full() is None,
}
CHANGES: dict[str, Callable[..., Any]] = {
    "TryIncAllocatedResource": lambda queue, amounts: queue.allocate(amounts or {}),
    "DecAllocatedResource": lambda queue, amounts: queue.release(amounts or {}),
}


def _of_queue(case: Data) -> str | None:
    given, expect, found = case["given"], case["expect"], dict[str, YuniKornQueue]()
    _queue(given["tree"], None, found)
    queue, operation = found[given["queue"]], given["op"]
    if operation in OPERATIONS:
        return mismatch(expect["result"], OPERATIONS[operation](queue, *(given["args"] or ())))
    before = {path: dict(each.allocated) for path, each in found.items()}
    failed = _fails(lambda: CHANGES[operation](queue, *(given["args"] or ())))
    changed = any(dict(each.allocated) != before[path] for path, each in found.items())
    return mismatch(expect["error"] is not None, failed) or mismatch(failed and changed, False)


# -- amounts for preemption --------------------------------------------------------------------------------------------


def _levels(chain: list[Data] | None) -> list[Level]:
    return [Level(each["path"], each["allocated"], each["guaranteed"], each["preempting"]) for each in chain or ()]


AMOUNTS: dict[str, Callable[[Data], Any]] = {
    "GetPreemptableResource": lambda snapshot: preemptable(_levels(snapshot["chain"])),
    "GetRemainingGuaranteedResource": lambda snapshot: remaining_guaranteed(
        _levels(snapshot["chain"]), _levels(snapshot["askQueue"])
    ),
}


def _amounts(case: Data) -> str | None:
    return mismatch(case["expect"]["result"], AMOUNTS[case["given"]["op"]](case["given"]["snapshot"]))


_TABLES: dict[str, tuple[dict[str, Any], Callable[[Data], str | None]]] = {
    "core-queue": ({**OPERATIONS, **CHANGES}, _of_queue),
    "core-preemption-amounts": (AMOUNTS, _amounts),
}
