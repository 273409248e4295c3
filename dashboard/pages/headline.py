"""The state of a Workload in a sentence or two. It only has facts of the explanation, as in `quotree why`.

The explanation leaves out what the user may not read, so the sentence does not name queues that the user may not see.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from dashboard.pages.times import Clock, lasted, now
from dashboard.reading.backend import Manifest
from scheduling.objects.inadmissible_reasons import SUSPENDED
from scheduling.visibility.raising import BORROWING_LIMIT

_NOTHING = "0"
_FAILED = ("Failed", "FailedToStart")
"""The reasons of the condition Finished that mean failure. Older versions of Kueue have one reason for all results."""


def headline(why: Manifest, stored: Manifest, clock: Clock = now) -> str:
    """The sentence about a Workload; empty if its state alone is enough.

    `why`: the explanation of /v1. `stored`: the Workload.
    """
    match why.get("state"):
        case "waiting":
            return _waits_text(why, lasted(pending_since(stored), clock))
        case "running" if why.get("admitted"):
            return _runs_text(why, lasted(_condition_time(stored, "Admitted", "True"), clock))
        case "finished":
            ended = lasted(_condition_time(stored, "Finished", "True"), clock)
            failure = failed((stored.get("status") or {}).get("conditions") or ())
            said = str((failure or {}).get("message") or "").rstrip(".")
            line = f"{'Failed' if failure else 'Finished'}{f' {ended} ago' if ended else ''}"
            return f"{line}{f': {said}' if said else ''}."
    return ""


def failed(conditions: Iterable[Manifest]) -> Manifest | None:
    """The condition that reports a failure; None if there is none."""
    ended = (each for each in conditions if (each.get("type"), each.get("status")) == ("Finished", "True"))
    return next((each for each in ended if each.get("reason") in _FAILED), None)


def pending_since(stored: Manifest) -> str:
    """The time at which the Workload began to wait: when it last lost its quota, or when it was created."""
    created = str((stored.get("metadata") or {}).get("creationTimestamp") or "")
    lost = _condition_time(stored, "QuotaReserved", "False") if _condition_time(stored, "Evicted", "True") else ""
    return max(created, lost)


def _condition_time(stored: Manifest, kind: str, status: str) -> str:
    for each in (stored.get("status") or {}).get("conditions") or ():
        if (each.get("type"), each.get("status")) == (kind, status):
            return str(each.get("lastTransitionTime") or "")
    return ""


def cause_of(why: Manifest) -> str:
    """Why the Workload waits, and which queue uses the missing quota; empty from an older reconciler."""
    return "; ".join(filter(None, (str(why.get("cause") or ""), holder_of(why))))


class WhatIsShort(NamedTuple):
    """A flavor and resource, and the Cohort or ClusterQueue whose whole quota is in use."""

    flavor: str
    resource: str
    kind: str
    name: str


def waits_for(why: Manifest) -> WhatIsShort | None:
    """The shared quota that the Workload waits for; None if it waits because of its own limit or for another reason."""
    lack = _shortage(why)
    if lack is None or lack["obstacle"]["limit"] == BORROWING_LIMIT or not lack["ever"]:
        return None
    return WhatIsShort(lack["flavor"], lack["resource"], lack["obstacle"]["kind"], lack["obstacle"]["name"])


def _waits_text(why: Manifest, span: str) -> str:
    queue = why.get("clusterQueue")
    head = f"Waits {span}".rstrip() + (f" in {queue}" if queue else "")
    stopped = why.get("reason") == SUSPENDED
    place = _place(None if stopped or not queue else why.get("position"), parked=bool(why.get("setAside")))
    if _shortage(why) is None:
        line = (
            f"{head}{f', {place}' if place else ''}."
            if queue
            else f"{head}: {why.get('cause') or why.get('message', '')}."
        )
        reason = _reason_without_queue(why) if queue else ""
        return f"{line} {reason}." if reason else line
    return f"{head}: {'; '.join(filter(None, (cause_of(why), place)))}."


def _reason_without_queue(why: Manifest) -> str:
    """The reason of `quotree why` without the queue, since the sentence before names it."""
    sentence = str(why.get("sentence") or "")
    _, colon, reason = sentence.partition("): ")
    found = reason if colon else sentence or str(why.get("message") or "")
    return f"{found[:1].upper()}{found[1:]}".rstrip(".")


def _shortage(why: Manifest) -> dict[str, Any] | None:
    """The missing quota, if that is the reason why the Workload waits; otherwise None."""
    other = ("notBefore", "behind", "behindAnother", "leaving", "leavingElsewhere")
    if not why.get("cause") or any(why.get(each) for each in other):
        return None
    return next((each for each in why.get("lacks") or () if each.get("obstacle")), None)


def holder_of(why: Manifest) -> str:
    """Which queue uses most beyond its quota; queues that the user may not see are counted together.

    Empty if the Workload does not wait for quota that others use.
    """
    lack = _shortage(why)
    if lack is None or waits_for(why) is None:
        return ""
    for each in lack.get("holders") or ():
        if each["borrowed"] != _NOTHING:
            return f"{each['clusterQueue']} holds {each['borrowed']} beyond its quota"
    return f"other queues hold {lack['heldByOthers']} of it" if lack.get("heldByOthers") else ""


def _place(position: int | None, *, parked: bool) -> str:
    if position is None:
        return ""
    if parked:
        return f"{ordinal(position)} in line, tried again when something changes in its tree"
    return "next in line" if position == 1 else f"{ordinal(position)} in line"


def _runs_text(why: Manifest, span: str) -> str:
    cluster = (why.get("placement") or {}).get("cluster")
    place = f" on cluster {cluster}" if cluster else ""
    return f"Admitted{f' {span} ago' if span else ''} in {why['clusterQueue']}{place}."


def ordinal(number: int) -> str:
    last = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{last}"
