"""The state of a Workload in a sentence or two, made of its explanation: the facts of `quotree why`, and no others.

The explanation leaves out what this person may not read, so the sentence names no queue that they may not see.
"""

from __future__ import annotations

from typing import Any

from dashboard.pages.times import Clock, lasted, now
from dashboard.reading.backend import Manifest

_NOTHING = "0"


def headline(why: Manifest, stored: Manifest, clock: Clock = now) -> str:
    """`why`: the explanation of /v1; `stored`: the Workload. Empty where the state says it all."""
    match why.get("state"):
        case "waiting":
            return _waits(why, lasted(pending_since(stored), clock))
        case "running" if why.get("admitted"):
            return _runs(why, lasted(_since(stored, "Admitted", "True"), clock))
        case "finished":
            ended = lasted(_since(stored, "Finished", "True"), clock)
            return f"Finished {ended} ago." if ended else "Finished."
    return ""


def pending_since(stored: Manifest) -> str:
    """When it began to wait: when it last lost its quota, or was created."""
    created = str((stored.get("metadata") or {}).get("creationTimestamp") or "")
    lost = _since(stored, "QuotaReserved", "False") if _since(stored, "Evicted", "True") else ""
    return max(created, lost)


def _since(stored: Manifest, kind: str, status: str) -> str:
    for each in (stored.get("status") or {}).get("conditions") or ():
        if (each.get("type"), each.get("status")) == (kind, status):
            return str(each.get("lastTransitionTime") or "")
    return ""


def cause_of(why: Manifest) -> str:
    """Why it waits, without its name; empty where the explanation names no amount that is short."""
    return "; ".join(_cause(why))


def _waits(why: Manifest, span: str) -> str:
    queue = why.get("clusterQueue")
    head = f"Waits {span}".rstrip() + (f" in {queue}" if queue else "")
    cause, place = _cause(why), _place(why.get("position") if queue else None, parked=bool(why.get("setAside")))
    if not cause:
        line = f"{head}{f', {place}' if place else ''}." if queue else f"{head}: {why.get('message', '')}."
        reason = _after_the_queue(why) if queue else ""
        return f"{line} {reason}." if reason else line
    return f"{head}: {'; '.join(filter(None, (*cause, place)))}."


def _after_the_queue(why: Manifest) -> str:
    """The reason of `quotree why` without the queue, which the line before has named."""
    sentence = str(why.get("sentence") or "")
    _, colon, reason = sentence.partition("): ")
    found = reason if colon else sentence or str(why.get("message") or "")
    return f"{found[:1].upper()}{found[1:]}".rstrip(".")


def _cause(why: Manifest) -> list[str]:
    leaving = len(why.get("leaving") or ()) + int(why.get("leavingElsewhere") or 0)
    if leaving:
        return [f"{leaving} preempted workload{'s' * (leaving > 1)} must end first"]
    short = next((each for each in why.get("lacks") or () if each.get("obstacle")), None)
    return [_shortage(short), *_holder(short)] if short else []


def _shortage(lack: dict[str, Any]) -> str:
    at, pair = lack["obstacle"], f"{lack['flavor']}/{lack['resource']}"
    ever = "" if lack["ever"] else ", even if nothing else ran"
    if at["limit"] == "borrowingLimit":
        return f"it needs {at['lacking']} of {pair} more than the borrowingLimit of {at['name']} allows{ever}"
    return f"{at['lacking']} of {pair} are short at {at['name']}{ever}"


def _holder(lack: dict[str, Any]) -> list[str]:
    """The queue that holds most beyond its quota; those that may not be named are counted together."""
    if lack["obstacle"]["limit"] == "borrowingLimit" or not lack["ever"]:
        return []  # others' use is not in the way
    for each in lack.get("holders") or ():
        if each["borrowed"] != _NOTHING:
            return [f"{each['clusterQueue']} holds {each['borrowed']} beyond its quota"]
    return [f"other queues hold {lack['heldByOthers']} of it"] if lack.get("heldByOthers") else []


def _place(position: int | None, *, parked: bool) -> str:
    if position is None:
        return ""
    if parked:
        return f"{ordinal(position)} in line, tried again when something changes"
    return "next in line" if position == 1 else f"{ordinal(position)} in line"


def _runs(why: Manifest, span: str) -> str:
    cluster = (why.get("placement") or {}).get("cluster")
    place = f" on cluster {cluster}" if cluster else ""
    return f"Admitted{f' {span} ago' if span else ''} in {why['clusterQueue']}{place}."


def ordinal(number: int) -> str:
    last = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{last}"
