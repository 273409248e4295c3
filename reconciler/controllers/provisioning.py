"""The controller of AdmissionChecks that request nodes from an autoscaler: their requests, and the condition Active."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from cluster.actions import Delete
from policies.dialects.kueue_checks import PROVISIONING
from policies.dialects.kueue_kinds import PROVISIONING_REQUEST_CONFIG
from reconciler.controllers.internal_errors import InternalErrors
from reconciler.core.controller import Busy, Controller, Lookup, WaitFor, WakeAt, Wanted
from reconciler.objects.activity import CHECK_ACTIVE, ActiveCondition, active_patch, parameters_fault, same
from reconciler.objects.moments import whole_second
from reconciler.objects.observed import Key, Observed, put_or_drop
from reconciler.objects.stored import Stored
from reconciler.objects.wanted import WantedWrite, reference
from reconciler.objects.watched import CHECK_VIEW, FLAVOR_VIEW
from reconciler.provisioning.objects import (
    CONFIGS,
    REQUESTS,
    TEMPLATES,
    Controlled,
    ProvisioningConfig,
    ProvisioningRequest,
)
from reconciler.provisioning.steps import MANAGER, ProvisioningCase
from scheduling.objects.grouped import Grouped, Links
from scheduling.objects.queue_settings import CheckSettings
from scheduling.objects.times import SECOND
from scheduling.world.world import World

_WORKLOAD = "Workload"
_RETRY_AFTER = 10 * SECOND
"""Nanoseconds until a deletion is repeated if the object still exists."""


class ProvisioningController(Controller):
    """Creates and deletes ProvisioningRequests. `cleanup`: see Kueue's gate CleanupProvisioningRequestsOnEviction.

    A request that this controller has deleted does not count any more, even if a late watch still shows it. Its nodes
    belong to an earlier quota reservation.
    """

    watched = (CONFIGS, REQUESTS, TEMPLATES, CHECK_VIEW, FLAVOR_VIEW)

    def __init__(self, stored: Lookup, world: World, *, cleanup: bool = True) -> None:
        self._stored = stored
        self._world = world
        self._cleanup = cleanup
        self._configs: dict[str, ProvisioningConfig] = {}
        self._checks: dict[str, CheckSettings] = {}
        self._statuses: dict[str, Stored] = {}
        self._requests: dict[str, ProvisioningRequest] = {}
        self._templates: dict[str, Controlled] = {}
        self._of_workload: Grouped[Key, str, None] = Grouped()
        self._waiting: Links[str, Key] = Links()  # workloads by the objects that they need
        self._deleted: dict[str, int] = {}
        self._stale: dict[Key, None] = {}
        self._errors = InternalErrors()

    # --- observed changes

    def observe(self, observed: Observed[object]) -> None:
        kind, name = observed.key
        if kind == CONFIGS.kind:
            put_or_drop(self._configs, name, CONFIGS.value(observed))
            self._look_at_checks(check for check in self._checks.values() if _names(check, name))
        elif kind == CHECK_VIEW.kind:
            self._see_check(name, observed)
        elif kind == REQUESTS.kind:
            before, after = self._requests.get(name), REQUESTS.value(observed)
            put_or_drop(self._requests, name, after)
            self._index(observed.key, before.meta if before is not None else None, after.meta if after else None)
        elif kind == TEMPLATES.kind:
            was, is_now = self._templates.get(name), TEMPLATES.value(observed)
            put_or_drop(self._templates, name, is_now)
            self._index(observed.key, was, is_now)
        else:
            self._wake_waiting_workloads(observed.key)

    def _see_check(self, name: str, observed: Observed[object]) -> None:
        before, check = self._checks.get(name), CHECK_VIEW.value(observed)
        mine = check if check is not None and check.controller == PROVISIONING else None
        put_or_drop(self._checks, name, mine)
        put_or_drop(self._statuses, name, observed.stored if mine is not None else None)
        if mine is not None:
            self._stale[observed.key] = None
        if (mine is None) != (before is None) or (mine and before and mine.parameters != before.parameters):
            self._look_at_workloads({name})

    def _look_at_checks(self, checks: Iterator[CheckSettings]) -> None:
        names = {check.name for check in checks}
        self._stale.update(dict.fromkeys((CHECK_VIEW.kind, name) for name in names))
        self._look_at_workloads(names)

    def _look_at_workloads(self, checks: set[str]) -> None:
        for workload in self._world.workloads.values():
            if any(check.name in checks for check in workload.checks):
                self._stale[_WORKLOAD, workload.key] = None

    def _index(self, key: Key, before: Controlled | None, after: Controlled | None) -> None:
        """Index the object by its Workload. A uid that no longer exists is removed from the deleted ones."""
        if before is not None and (after is None or after.uid != before.uid):
            self._deleted.pop(before.uid, None)
        self._of_workload.pop(key)
        if after is not None and after.owner_kind == _WORKLOAD:
            self._of_workload.put(key, _owner(after), None)
        for each in filter(None, (before, after)):
            if each.owner_kind == _WORKLOAD:
                self._stale[_WORKLOAD, _owner(each)] = None
        self._wake_waiting_workloads(key)

    def _wake_waiting_workloads(self, key: Key) -> None:
        for workload in self._waiting.of(key):
            self._stale[_WORKLOAD, workload] = None

    def workload_changed(self, workload: str) -> None:
        if self._checks or workload in self._of_workload or self._waiting.groups(workload):
            self._stale[_WORKLOAD, workload] = None
        observed = self._stored(workload) if self._cleanup and workload in self._of_workload else None
        if observed is not None and observed.value.evicted:
            for kind, key in self._of_workload.of(workload):
                if kind == REQUESTS.kind:
                    self._deleted.setdefault(self._requests[key].meta.uid, 0)

    def wake(self, item: Key) -> None:
        self._stale[item] = None

    # --- writes

    def reconcile(self, busy: Busy, now: int) -> Iterator[Wanted]:
        stale, self._stale = self._stale, {}
        for item in stale:
            if busy(*item):
                yield WaitFor(item, item)
            elif item[0] == CHECK_VIEW.kind:
                yield from self._activity(item, whole_second(now))
            else:
                yield from self._look_at(item, busy, now)

    def _activity(self, item: Key, now: int) -> Iterator[Wanted]:
        check, stored = self._checks.get(item[1]), self._statuses.get(item[1])
        if check is None or stored is None:
            return
        fault = parameters_fault(check.parameters, PROVISIONING_REQUEST_CONFIG, self._configs)
        wanted = CHECK_ACTIVE if fault is None else ActiveCondition(False, "BadParametersRef", fault)
        if not same(stored, wanted):
            yield WantedWrite(item, active_patch(CHECK_VIEW.resource, item[1], stored, wanted, now, MANAGER))
            yield WaitFor(item, item)

    def _look_at(self, item: Key, busy: Busy, now: int) -> Iterator[Wanted]:
        observed = self._stored(item[1])
        about = reference(observed.value) if observed is not None else None
        yield from self._errors.isolated(item, partial(self._steps, item, busy, now), about, now)

    def _steps(self, item: Key, busy: Busy, now: int) -> Iterator[Wanted]:
        case = self._case(item[1], now)
        self._waiting.put(item[1], case.needs() if case is not None else ())
        for write in case.steps() if case is not None else ():
            if busy(*write.key):
                yield WaitFor(item, write.key)
            elif isinstance(write.action, Delete):
                yield from self._delete(item, write, write.action.uid, now)
            else:
                yield write
                yield WaitFor(item, write.key)

    def _delete(self, item: Key, write: WantedWrite, uid: str, now: int) -> Iterator[Wanted]:
        """Delete the object. If it still exists some time later, delete it again."""
        if now >= self._deleted.get(uid, 0):
            self._deleted[uid] = now + _RETRY_AFTER
            yield write
        yield WakeAt(item, self._deleted[uid])

    def _case(self, name: str, now: int) -> ProvisioningCase | None:
        observed = self._stored(name)
        if observed is None:
            return None
        workload = observed.value
        configs = {each.name: self._config(each.name) for each in workload.checks if each.name in self._checks}
        belonging = self._of_workload.of(name)
        if not configs and not belonging:
            return None
        return ProvisioningCase(
            observed,
            configs,
            self._requests,
            self._templates,
            [
                key
                for kind, key in belonging
                if kind == REQUESTS.kind and self._requests[key].meta.owner == workload.uid
            ],
            [key for kind, key in belonging if kind == TEMPLATES.kind and self._templates[key].owner == workload.uid],
            self._deleted.keys(),
            self._world.state.flavors,
            whole_second(now),
            self._cleanup,
        )

    def _config(self, check: str) -> ProvisioningConfig | None:
        """The ProvisioningRequestConfig of the check; None if the check is not active."""
        settings = self._checks[check]
        fault = parameters_fault(settings.parameters, PROVISIONING_REQUEST_CONFIG, self._configs)
        return self._configs[settings.parameters.name] if fault is None and settings.parameters is not None else None


def _names(check: CheckSettings, config: str) -> bool:
    return check.parameters is not None and check.parameters.name == config


def _owner(controlled: Controlled) -> str:
    """The Workload that controls the object, as `namespace/name`."""
    return f"{controlled.namespace}/{controlled.owner_name}"
