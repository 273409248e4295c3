"""The next writes for a workload whose admission checks request new nodes.

The writes are computed from the stored objects alone. A patch is bound to the version that was read, a deletion to the
uid. Source: Kueue v0.19, pkg/controller/admissionchecks/provisioning.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from cluster.actions import Create, Delete, Patch
from policies.dialects.kueue_checks import PROVISIONING
from policies.dialects.kueue_flavor import Flavor
from policies.dialects.reading import Manifest
from reconciler.jobs.pod_changes import CannotStart, changes
from reconciler.objects.observed import Key, Observed
from reconciler.objects.patches import status_patch
from reconciler.objects.wanted import WantedWrite, reference
from reconciler.provisioning.demands import (
    Demand,
    demands,
    eviction_count,
    needing,
    owned_by_request,
    parameters,
    pod_template,
    provisioning_request,
    request_name,
    template_name,
)
from reconciler.provisioning.objects import (
    REQUEST_RESOURCE,
    REQUESTS,
    TEMPLATE_RESOURCE,
    TEMPLATES,
    Controlled,
    ProvisioningConfig,
    ProvisioningRequest,
)
from reconciler.provisioning.states import ProvisioningAttempt
from scheduling.objects.workload import CheckState, Workload
from scheduling.status.checks import PENDING, set_check

MANAGER = PROVISIONING
FAILED_CREATE = "FailedCreate"


@dataclass(frozen=True)
class ProvisioningCase:
    """A workload and the objects that its requests depend on.

    `configs`: the config of each check of this controller; None if the check is not active.
    `requests`, `templates`: all existing objects, by `namespace/name`.
    `owned`: the keys of the workload's requests.
    `own_templates`: the keys of its PodTemplates.
    `doomed`: the uids of objects that this process has deleted. A late watch may still show them.
    `flavors`: the ResourceFlavors by name.
    `cleanup`: whether an eviction deletes requests; otherwise only the end of the workload does.
    """

    observed: Observed[Workload]
    configs: Mapping[str, ProvisioningConfig | None]
    requests: Mapping[str, ProvisioningRequest]
    templates: Mapping[str, Controlled]
    owned: Iterable[str]
    own_templates: Iterable[str]
    doomed: Container[str]
    flavors: Mapping[str, Flavor]
    now: int
    cleanup: bool = True

    def steps(self) -> list[WantedWrite]:
        """The next writes; empty while the workload has to wait for another controller."""
        workload = self.workload
        if workload.finished or (workload.evicted and self.cleanup):
            return [*self._deletions(self.owned, self.own_templates)]
        if not self.at_work:
            return []
        return self._states() or [
            *self._provide_all(),
            *self._deletions(
                self._outdated_requests(), [key for key in self.own_templates if self._stale(self.templates[key])]
            ),
        ]

    @property
    def at_work(self) -> bool:
        """Whether the workload has quota, and so needs its requests."""
        workload = self.workload
        return (
            workload.reserved and workload.active and not (workload.evicted or workload.finished or workload.deleting)
        )

    def needs(self) -> Iterator[Key]:
        """The keys of objects that its steps depend on, even if they do not exist."""
        if not self.at_work:
            return
        namespace = self.workload.namespace
        for check in self._checks:
            name = self._named(check)
            yield REQUESTS.kind, f"{namespace}/{name}"
            for pod_set in self.workload.pod_sets:
                yield TEMPLATES.kind, f"{namespace}/{template_name(name, pod_set.name)}"
        for assigned in self.workload.assignments:
            yield from (("ResourceFlavor", flavor) for flavor in assigned.flavors.values())

    @property
    def workload(self) -> Workload:
        return self.observed.value

    @cached_property
    def manifest(self) -> Manifest:
        return self.observed.manifest()

    @property
    def _checks(self) -> list[CheckState]:
        return [check for check in self.workload.checks if check.name in self.configs]

    def _named(self, check: CheckState) -> str:
        """The name of the request in the present attempt of the check."""
        return request_name(self.workload.name, check.name, (check.retries or 0) + 1)

    def _request(self, name: str) -> ProvisioningRequest | None:
        return self.requests.get(f"{self.workload.namespace}/{name}")

    def _mine(self, request: ProvisioningRequest | None) -> ProvisioningRequest | None:
        """The request, if this workload owns it. Another workload's request may have its name."""
        return request if request is not None and request.meta.owner == self.workload.uid else None

    def _is_to_be_deleted(self, meta: Controlled) -> bool:
        return meta.deleting or meta.uid in self.doomed or self._stale(meta)

    def _stale(self, meta: Controlled) -> bool:
        """Whether the object belongs to an earlier reservation, because an eviction happened since."""
        return self.cleanup and meta.evictions not in ("", eviction_count(self.workload))

    # --- states

    def _states(self) -> list[WantedWrite]:
        checks = self.workload.checks
        for check in self._checks:
            request = self._current_request(check)
            attempt = ProvisioningAttempt(self.workload, check, self.configs[check.name], request)
            checks = set_check(checks, attempt.next(), self.now)
        return self._written(checks)

    def _current_request(self, check: CheckState) -> ProvisioningRequest | None:
        """The request of the present attempt; None if it has to be replaced."""
        request, config = self._mine(self._request(self._named(check))), self.configs[check.name]
        if request is None or self._is_to_be_deleted(request.meta):
            return None
        replaced = check.state == PENDING and config is not None and not self._in_step(request, config)
        return None if replaced else request

    def _written(self, checks: tuple[CheckState, ...], why: str = "") -> list[WantedWrite]:
        """The write of the states of checks. `why`: an error that an Event reports; empty for none."""
        patch = status_patch(self.workload, replace(self.workload, checks=checks), MANAGER)
        if patch is None:
            return []
        key = ("Workload", self.workload.key)
        if not why:
            return [WantedWrite(key, patch)]
        return [WantedWrite(key, patch, reference(self.workload), FAILED_CREATE, why, warning=True)]

    # --- requests

    def _provide_all(self) -> Iterator[WantedWrite]:
        for check in self._checks:
            config = self.configs[check.name]
            if check.state == PENDING and config is not None and needing(self.workload, config):
                yield from self._provide(check, config)

    def _provide(self, check: CheckState, config: ProvisioningConfig) -> Iterator[WantedWrite]:
        name = self._named(check)
        request = self._request(name)
        if request is not None and self._is_to_be_deleted(request.meta):
            return
        if request is not None and self._mine(request) is None:
            yield from self._failed(check, f'ProvisioningRequest "{name}" exists and belongs to another object')
        elif request is not None and not self._in_step(request, config):
            yield from self._deletions([request.meta.key], ())
        else:
            yield from self._complete(check, config, name, request)

    def _in_step(self, request: ProvisioningRequest, config: ProvisioningConfig) -> bool:
        """Whether the request equals the one that would be made now. A request can be replaced, but not changed."""
        wanted = config.class_name, parameters(self.manifest, config)
        return (request.class_name, request.parameters) == wanted

    def _complete(
        self, check: CheckState, config: ProvisioningConfig, name: str, request: ProvisioningRequest | None
    ) -> Iterator[WantedWrite]:
        """Create what is missing: first the PodTemplates, then the request, which becomes their owner."""
        try:
            placed = changes(self.workload, self.flavors)
            if placed is None:
                return
            wanted = demands(self.workload, self.manifest, config, {each.name: each for each in placed})
        except CannotStart as error:
            yield from self._failed(check, f'Error creating ProvisioningRequest "{name}": {error}')
            return
        for each in wanted:
            yield from self._template(check, name, each, request)
        if request is None and all(self._usable(template_name(name, each.pod_sets[0])) for each in wanted):
            body = provisioning_request(name, self.workload, self.manifest, config, wanted)
            about, news = reference(self.workload), f'Created ProvisioningRequest: "{name}"'
            key = (REQUESTS.kind, f"{self.workload.namespace}/{name}")
            action = Create(REQUEST_RESOURCE, body, MANAGER)
            yield WantedWrite(key, action, about, "ProvisioningRequestCreated", news, refusal=FAILED_CREATE)

    def _template(
        self, check: CheckState, request_named: str, demand: Demand, request: ProvisioningRequest | None
    ) -> Iterator[WantedWrite]:
        """The write that a PodTemplate needs. The template of an earlier request with this name is deleted first."""
        name = template_name(request_named, demand.pod_sets[0])
        key = (TEMPLATES.kind, f"{self.workload.namespace}/{name}")
        there, about = self.templates.get(key[1]), reference(self.workload)
        if there is None:
            made = pod_template(name, self.workload, demand)
            yield WantedWrite(key, Create(TEMPLATE_RESOURCE, made, MANAGER), about, refusal=FAILED_CREATE)
        elif self._is_to_be_deleted(there) or (request is not None and there.owner == request.meta.uid):
            return
        elif there.owner == self.workload.uid:
            if request is not None:
                body = owned_by_request(request.meta)
                action = Patch(TEMPLATE_RESOURCE, there.namespace, name, body, there.version, MANAGER)
                yield WantedWrite(key, action, about)
        elif (there.owner_kind, there.owner_name) == (REQUESTS.kind, request_named):
            yield WantedWrite(key, Delete(TEMPLATE_RESOURCE, there.namespace, name, uid=there.uid), about)
        else:
            yield from self._failed(check, f'PodTemplate "{name}" exists and belongs to another object')

    def _usable(self, template: str) -> bool:
        """Whether a request can refer to the PodTemplate: it exists and belongs to this workload."""
        there = self.templates.get(f"{self.workload.namespace}/{template}")
        return there is not None and not self._is_to_be_deleted(there) and there.owner == self.workload.uid

    def _failed(self, check: CheckState, message: str) -> list[WantedWrite]:
        checks = set_check(self.workload.checks, replace(check, message=message), self.now)
        return self._written(checks, message)

    # --- deletions

    def _outdated_requests(self) -> Iterator[str]:
        """Requests of earlier reservations or attempts, and of checks that the workload no longer has."""
        kept = {
            request_name(self.workload.name, check.name, attempt)
            for check in self._checks
            for attempt in self._attempts(check)
        }
        for key in self.owned:
            meta = self.requests[key].meta
            if meta.name not in kept or meta.uid in self.doomed or self._stale(meta):
                yield key

    def _attempts(self, check: CheckState) -> range:
        """The attempts whose requests are kept: the present one and, without cleanup, the earlier ones.

        If the check is not active, none is kept, unless the workload is admitted and may run on the new nodes.
        """
        if self.configs[check.name] is None and not self.workload.admitted:
            return range(0)
        present = (check.retries or 0) + 1
        return range(present if self.cleanup else 1, present + 1)

    def _deletions(self, requests: Iterable[str], templates: Iterable[str]) -> Iterator[WantedWrite]:
        about = reference(self.workload)
        for key in requests:
            meta = self.requests[key].meta
            if not meta.deleting:
                action = Delete(REQUEST_RESOURCE, meta.namespace, meta.name, uid=meta.uid, background=True)
                yield WantedWrite((REQUESTS.kind, key), action, about)
        for key in templates:
            found = self.templates[key]
            if not found.deleting:
                yield WantedWrite(
                    (TEMPLATES.kind, key), Delete(TEMPLATE_RESOURCE, found.namespace, found.name, uid=found.uid), about
                )
