"""Events on PodGroups whose Pods wait at the gate. Each Pod has its own Event as well."""

from __future__ import annotations

from reconciler.controllers.gates.pod_writes import places
from reconciler.controllers.volcano.gate_kinds import GATED_GROUP
from reconciler.core.records import Records
from reconciler.objects.wanted import WantedWrite, refer

_VERSION = f"{GATED_GROUP.resource.group}/{GATED_GROUP.resource.version}"


class GroupNews:
    """Records an Event when a group's reason for waiting changes (without amounts), and when its Pods first pass."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._waits: dict[str, list[str]] = {}
        self._passed: set[str] = set()
        self._news: list[WantedWrite] = []

    def waits(self, group: str, reason: str, text: str, *, warning: bool) -> None:
        if self._waits.get(group) != places(text):
            self._waits[group] = places(text)
            self._record(group, reason, text, warning=warning)

    def passes(self, group: str, queue: str, pods: int) -> None:
        """This number of the group's Pods pass together."""
        if group not in self._passed:
            self._passed.add(group)
            self._record(group, "QuotaAdmitted", f"{pods} Pod{'s' * (pods != 1)} admitted in {queue}")

    def gone(self, group: str) -> None:
        self._passed.discard(group)
        self._waits.pop(group, None)

    def take(self) -> list[WantedWrite]:
        """The Events since the last call."""
        found, self._news = self._news, []
        return found

    def _record(self, group: str, reason: str, text: str, *, warning: bool = False) -> None:
        observed = self._records.get(GATED_GROUP, group)
        if observed is None:
            return
        about = refer(_VERSION, "PodGroup", group, observed.value.uid, version=observed.version)
        self._news.append(WantedWrite(observed.key, None, about, reason, text, warning=warning))
