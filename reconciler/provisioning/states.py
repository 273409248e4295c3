"""Computes the state of an admission check from its ProvisioningRequest. The messages are Kueue's.

Source: Kueue v0.19, pkg/controller/admissionchecks/provisioning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from reconciler.provisioning.demands import needing, template_name
from reconciler.provisioning.objects import AUTOSCALING, ProvisioningConfig, ProvisioningRequest
from scheduling.objects.workload import CheckState, Condition, Workload
from scheduling.status.checks import PENDING, READY, REJECTED, RETRY

INACTIVE = "the check is not active"
NOT_NEEDED = "the provisioning request is not needed"
FAILED, REVOKED, EXPIRED = "Failed", "CapacityRevoked", "BookingExpired"
PROVISIONED = "Provisioned"
_CONSUME = f"{AUTOSCALING}/consume-provisioning-request"
_CLASS = f"{AUTOSCALING}/provisioning-class-name"


@dataclass(frozen=True, slots=True)
class ProvisioningAttempt:
    """An admission check of a workload with quota, and its present request.

    `config`: None if it does not exist.
    `request`: None if it does not exist yet.
    """

    workload: Workload
    check: CheckState
    config: ProvisioningConfig | None
    request: ProvisioningRequest | None

    def next(self) -> CheckState:
        """The next state of the check. A check in Retry or Rejected stays so until an eviction resets it."""
        if self.check.state in (RETRY, REJECTED):
            return self.check
        if self.config is None:
            return self.check if self.workload.admitted else self._pending(INACTIVE)
        if self.check.state != READY and not needing(self.workload, self.config):
            return replace(self.check, state=READY, message=NOT_NEEDED, updates=())
        if self.request is None:
            return self.check
        return self._state_from(self.request, self.config)

    def _state_from(self, request: ProvisioningRequest, config: ProvisioningConfig) -> CheckState:
        if failed := request.holding(FAILED):
            return self._retry(failed, "failure", config)
        if revoked := request.holding(REVOKED):
            return replace(self.check, state=REJECTED, message=revoked.message)
        expired = request.holding(EXPIRED)
        if expired and not self.workload.admitted:
            return self._retry(expired, "booking expired", config)
        if self.check.state == READY:
            return self.check
        found = request.conditions.get(PROVISIONED)
        if found is not None and found.status == "True":
            updates = tuple(_updates(self.workload, request, config))
            return replace(self.check, state=READY, message=found.message, updates=updates)
        message = found.message if found is not None and request.holding("Accepted") else ""
        return self._pending(message)

    def _pending(self, message: str) -> CheckState:
        return replace(self.check, state=PENDING, message=message, updates=())

    def _retry(self, why: Condition, what: str, config: ProvisioningConfig) -> CheckState:
        retries = self.check.retries or 0
        if retries >= config.backoff.limit:
            return replace(self.check, state=REJECTED, message=why.message)
        message, later = f"Retrying after {what}: {why.message}", config.backoff.wait(retries)
        return replace(self.check, state=RETRY, message=message, requeue_after=later)


def _updates(
    workload: Workload, request: ProvisioningRequest, config: ProvisioningConfig
) -> Iterator[Mapping[str, Any]]:
    """The changes that place pods on the nodes that were created for them.

    There is one update for each pod set that has its own PodTemplate. Details that the request lacks are omitted.
    """
    selector = {key: request.details[detail] for key, detail in config.selectors if detail in request.details}
    annotations = {_CONSUME: request.meta.name, _CLASS: request.class_name}
    for pod_set in workload.pod_sets:
        if template_name(request.meta.name, pod_set.name) in request.templates:
            yield {
                "name": pod_set.name,
                "annotations": annotations,
                **({"nodeSelector": selector} if selector else {}),
            }
