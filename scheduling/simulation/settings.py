"""How a simulation decides: the parts of Kueue's Configuration that the engine goes by.

Source: Kueue v0.19, apis/config v1beta2 (fairSharing, resources, waitForPodsReady, featureGates).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from policies.configuration.kueue.defaults import STRATEGIES
from policies.configuration.kueue.validation import refuse_faults
from policies.dialects.reading import Manifest, listing, mapping
from policies.model.errors import BadConfiguration
from scheduling.objects.order import Ordering
from scheduling.objects.requests import DEFAULT, Counting
from scheduling.quota.state import Options
from scheduling.status.deadlines import WaitForPodsReady
from scheduling.world.kueue_configuration import read_counting, read_ordering, read_waiting

GROUP, KIND = "config.kueue.x-k8s.io", "Configuration"


@dataclass(frozen=True, slots=True)
class Settings:
    """`waiting` None: pods may take for ever. `boosted`: the gate PriorityBoost.

    `unplayed` are sections of the configuration that a simulation does not play.
    """

    options: Options = field(default_factory=Options)
    ordering: Ordering = field(default_factory=Ordering)
    counting: Counting = DEFAULT
    waiting: WaitForPodsReady | None = None
    boosted: bool = False
    unplayed: tuple[str, ...] = ()


def read_settings(configuration: Manifest, gates: Mapping[str, bool], *, compat: bool = False) -> Settings:
    """`configuration` is Kueue's, empty where there is none; its featureGates go over `gates`.

    Raises BadConfiguration with the path of the key.
    """
    every = {**gates, **_gates(mapping(configuration.get("featureGates")))}
    refuse_faults(configuration, every)
    fair = configuration.get("fairSharing")
    options = Options(
        fair_sharing=fair is not None and mapping(fair).get("enable") is not False,
        strategies=tuple(listing(mapping(fair).get("preemptionStrategies"))) or STRATEGIES,
        ignore_undeclared=mapping(configuration.get("resources")).get("quotaCheckStrategy") == "IgnoreUndeclared",
        partial_admission=every.get("PartialAdmission", True),
        recompute_on_overlap=every.get("RecomputeAssignmentUponPreemptionTargetsOverlap", True),
        preemptors_first=every.get("PrioritizePreemptorWorkloads", not compat),
        nominal_first=every.get("FairSharingPreemptWithinNominal", True),
        compat=compat,
    )
    return Settings(
        options,
        replace(read_ordering(configuration), by_priority=every.get("PrioritySortingWithinCohort", True)),
        read_counting(configuration, reclaimable_pods=every.get("ReclaimablePods", True)),
        read_waiting(configuration) if "waitForPodsReady" in configuration else None,
        every.get("PriorityBoost", False),
        tuple(section for section in ("admissionFairSharing", "multiKueue") if section in configuration),
    )


def _gates(section: Mapping[str, object]) -> dict[str, bool]:
    for gate, value in section.items():
        if not isinstance(value, bool):
            raise BadConfiguration(f"{value!r} is neither true nor false", f"featureGates.{gate}")
    return {gate: value for gate, value in section.items() if isinstance(value, bool)}
