"""Volcano's tables about the life of a queue: its states, and what vcctl does and prints."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from scheduling.volcano_queues.states import QueueAction, VolcanoQueueState, handler_of, next_state
from scheduling.volcano_queues.vcctl import BadRequest, check_name, counts_by_queue, listed, requested
from tests.conformance.suite import Data, Suite, mismatch, suite


def suites(folder: Path) -> Iterator[Suite]:
    for name, check in (
        ("queue-state-machine", _next_state),
        ("queue-state-handler", _handler),
        ("vcctl-queue", _vcctl),
    ):
        path = folder / "volcano" / f"{name}.json"
        if path.is_file():
            yield suite("volcano", path, check)


def _stored(queue: Data) -> str:
    return str(queue.get("status", {}).get("state", ""))


def _next_state(case: Data) -> str | None:
    given = case["given"]
    in_force, action = VolcanoQueueState(given["currentState"].capitalize()), QueueAction(given["action"])
    found = next_state(in_force, action, _stored(given["queue"]), work=bool(given["podGroups"]))
    return mismatch(case["expect"]["state"], found.value)


def _handler(case: Data) -> str | None:
    found = handler_of(_stored(case["given"]["queue"]))
    return mismatch(case["expect"]["handler"], found.value.lower() if found else None)


def _vcctl(case: Data) -> str | None:
    given, expect = case["given"], case["expect"]
    if given["command"] == "list":
        counts = given.get("podGroupStatistics") or counts_by_queue(given.get("podGroups", []))
        text = listed(given["queues"] or [], counts)
        if "stdoutTrimmed" in expect:
            return mismatch(expect["stdoutTrimmed"], text.strip())
        return mismatch(expect.get("stdout", text), text)
    return mismatch(expect["error"], _complaint(given))


def _complaint(given: Data) -> str | None:
    try:
        if given["command"] == "operate":
            requested(given["name"], given["action"], given["weight"])
        else:
            check_name(given["name"])
    except BadRequest as error:
        return str(error)
    return None
