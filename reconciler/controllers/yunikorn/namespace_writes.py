"""The conditions of Namespaces with quota: the usage, and whether the quota can be read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from cluster.actions import Patch
from cluster.resource import NAMESPACES
from policies.dialects.yunikorn import VCORE
from policies.dialects.yunikorn_gates import FULL, UNREADABLE
from policies.impact.quotas import amount_text
from policies.impact.yunikorn_quotas import nano
from policies.model.printing import plain
from reconciler.controllers.gates.pod_writes import MANAGER
from reconciler.objects.moments import whole_second
from reconciler.objects.observed import Observed
from reconciler.objects.stored import Stored, with_condition
from reconciler.objects.wanted import WantedWrite, refer_to
from scheduling.yunikorn.gates.gated_namespace import Usage

_LONGEST = 1000


class _Condition(NamedTuple):
    """A condition of a Namespace. `added`: whether it is written if the Namespace does not have it yet."""

    kind: str
    holds: bool
    reason: str
    message: str
    added: bool


def conditions(observed: Observed[object], flaw: str, usage: Usage | None, now: int) -> WantedWrite | None:
    """The conditions to write; None if nothing has to change.

    `flaw`: why the quota cannot be read; empty if it can.
    `usage`: the usage; None if there is no readable quota.
    """
    stored = observed.stored or Stored()
    before = {each.get("type"): each for each in stored.status.get("conditions") or ()}
    wanted = [each for each in (_unreadable(flaw), _full(flaw, usage)) if _is_news(before.get(each.kind), each)]
    if not wanted:
        return None
    after = stored.status.get("conditions") or ()
    for each in wanted:
        so_far = Stored(status={"conditions": after}, generation=stored.generation)
        after = with_condition(so_far, each.kind, each.holds, each.reason, each.message, whole_second(now))
    patch = Patch(
        NAMESPACES, None, observed.key[1], {"status": {"conditions": after}}, observed.version, MANAGER, "status"
    )
    event = next((each for each in wanted if _is_event(before.get(each.kind), each)), None)
    if event is None:
        return WantedWrite(observed.key, patch)
    about, wrong = refer_to("v1", "Namespace", observed.key[1], stored), event.kind == UNREADABLE and event.holds
    return WantedWrite(observed.key, patch, about, event.reason, event.message, warning=wrong)


def _unreadable(flaw: str) -> _Condition:
    said = plain(flaw)[:_LONGEST]
    reason, message = ("QuotaUnreadable", said) if said else ("QuotaReadable", "The quota can be read")
    return _Condition(UNREADABLE, bool(said), reason, message, added=bool(said))


def _full(flaw: str, usage: Usage | None) -> _Condition:
    used = usage or {}
    full = any(amount >= quota > 0 for amount, quota in used.values())
    amounts = sorted(
        f"{_name(name)} {_text(name, amount)} of {_text(name, quota)}" for name, (amount, quota) in used.items()
    )
    without = "The quota cannot be read" if flaw else "The Namespace has no quota"
    message = f"{', '.join(amounts)} in use" if used else without
    return _Condition(FULL, full, "QuotaFull" if full else "QuotaFree", plain(message)[:_LONGEST], added=bool(used))


def _is_news(before: Mapping[str, Any] | None, wanted: _Condition) -> bool:
    """Whether the condition has to be written."""
    if before is None:
        return wanted.added
    return _turns(before, wanted) or (before.get("message") != wanted.message and (wanted.holds or wanted.kind == FULL))


def _is_event(before: Mapping[str, Any] | None, wanted: _Condition) -> bool:
    """Whether the change deserves an Event. That quota is available again does not, because it changes often."""
    return _turns(before, wanted) and (wanted.holds or wanted.kind == UNREADABLE)


def _turns(before: Mapping[str, Any] | None, wanted: _Condition) -> bool:
    return wanted.holds != (before is not None and before.get("status") == "True")


def _name(resource: str) -> str:
    return "cpu" if resource == VCORE else resource


def _text(resource: str, amount: int) -> str:
    return amount_text(resource, nano(resource, amount))
