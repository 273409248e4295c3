"""Kueue's tables of a Workload: what it asks for, and where it stands in its queue."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from policies.amounts.devices import DeviceCharge
from policies.amounts.limit_ranges import Violation, summarize, violations
from policies.amounts.requests import Transformation, readable
from policies.dialects.kueue_kinds import WORKLOAD_PRIORITY_CLASS
from policies.dialects.reading import mapping
from policies.model.pools import count
from policies.model.quantity import BadQuantity, Quantity
from policies.mutation.pod_defaults import Surroundings, completed, exceeded_limits
from scheduling.flavors.scan_progress import Progress
from scheduling.objects import times
from scheduling.objects.order import Ordering, scheduling_hash
from scheduling.objects.reading import read_workload
from scheduling.objects.requests import Counting, PodSetRequests, total_requests, usage
from scheduling.objects.workload import Workload
from scheduling.status.progress import with_resource_requests
from tests.conformance.kueue_gates import gated
from tests.conformance.suite import Check, Data, Suite, mismatch

_GATES = frozenset({"SchedulingEquivalenceHashing", "ReclaimablePods", "PrioritySortingWithinCohort"})


def suites(folder: Path) -> Iterator[Suite]:
    for name, check in _CHECKS.items():
        path = folder / "kueue" / "workload" / f"{name}.json"
        if path.is_file():
            yield gated(path, check, _GATES)


# -- requests ----------------------------------------------------------------------------------------------------------


def counting(options: Data, gates: Data) -> Counting:
    """How requests are counted. Some tables list the transformations, as a Configuration does."""
    transformations = options.get("resourceTransformations") or {}
    if isinstance(transformations, list):
        transformations = {entry["input"]: entry for entry in transformations}
    return Counting(
        excluded_prefixes=tuple(options.get("excludedResourcePrefixes") or ()),
        transformations={name: _transformation(entry) for name, entry in transformations.items()},
        reclaimable_pods=gates.get("ReclaimablePods", True),
    )


def _transformation(entry: Data) -> Transformation:
    return Transformation(
        readable(entry.get("outputs")), entry.get("multiplyBy") or "", entry.get("strategy") == "Replace"
    )


def _new_info(case: Data) -> str | None:
    given, expected = case["given"], case["expect"]["info"]
    options = given.get("infoOptions") or {}
    workload = _with_devices(read_workload(given["workload"]), options)
    totals = total_requests(workload, counting(options, case.get("featureGates", {})))
    queue = workload.admission.cluster_queue if workload.admission else ""
    return mismatch(expected.get("clusterQueue") or "", queue) or _same_requests(expected.get("totalRequests"), totals)


def _rebuilt(case: Data) -> str | None:
    given = case["given"]
    options = given.get("updateOptions") or {}
    devices = given["initialOptions"] if options.get("preserveTotalRequests") else options
    workload = _with_devices(read_workload(given["updated"]), devices)
    return _same_requests(case["expect"]["requests"], total_requests(workload, counting(options, {})))


def _with_devices(workload: Workload, options: Data) -> Workload:
    """The workload with the devices that were counted for it."""
    amounts = options.get("preprocessedDRAResources") or {}
    replaced = options.get("replacedExtendedResources") or {}

    def charge(name: str) -> DeviceCharge:
        counted = {each: count(each, quantity) for each, quantity in readable(amounts.get(name)).items()}
        return DeviceCharge(tuple(sorted(counted.items())), tuple(sorted(replaced.get(name) or [])))

    return replace(workload, pod_sets=tuple(replace(each, devices=charge(each.name)) for each in workload.pod_sets))


def _same_requests(expected: list[Data] | None, totals: tuple[PodSetRequests, ...]) -> str | None:
    wanted = [
        (entry["name"], entry["count"], entry.get("flavors") or {}, entry.get("requests") or {})
        for entry in expected or []
    ]
    return mismatch(wanted, [(entry.name, entry.count, dict(entry.flavors), dict(entry.requests)) for entry in totals])


def _info(content: Data) -> list[PodSetRequests]:
    return [
        PodSetRequests(
            entry.get("name") or "main",
            entry.get("count") or 0,
            entry.get("requests") or {},
            {},
            entry.get("flavors") or {},
        )
        for entry in content.get("totalRequests") or []
    ]


def _usage(case: Data) -> str | None:
    found = usage(_info(case["given"].get("info") or {}))
    return mismatch(case["expect"]["result"] or {}, {str(pair): amount for pair, amount in found.items()})


def _propagated(case: Data) -> str | None:
    workload = read_workload(case["given"]["workload"])
    changed = with_resource_requests(workload, _info(case["given"].get("info") or {})) is not workload
    return mismatch(case["expect"]["result"], changed)


# -- what surrounds it -------------------------------------------------------------------------------------------------


def _around(given: Data) -> Surroundings:
    """The LimitRanges of the workload's namespace, and the RuntimeClasses."""
    home = _namespace(given["workload"])
    ranges = [item for key, items in given.items() if key.lower().startswith("limitrange") for item in _items(items)]
    ranges = [item for item in ranges if _namespace(item) == home]
    classes = [item for key, items in given.items() if key.lower().startswith("runtimeclass") for item in _items(items)]
    overheads = {each["metadata"]["name"]: readable(mapping(each.get("overhead")).get("podFixed")) for each in classes}
    return Surroundings(summarize(ranges), overheads, compat=True)


def _namespace(manifest: Data) -> str:
    return (manifest.get("metadata") or {}).get("namespace") or ""


def _items(value: object) -> list[Data]:
    """The objects of a list, or of what is one object or a List."""
    if isinstance(value, dict):
        return value["items"] if isinstance(value.get("items"), list) else [value]
    return value if isinstance(value, list) else []


def _adjusted(case: Data) -> str | None:
    around = _around(case["given"])
    specs = [
        completed(entry["template"]["spec"], around) for entry in case["given"]["workload"]["spec"].get("podSets", [])
    ]
    wanted = [entry["template"]["spec"] for entry in case["expect"]["workload"]["spec"].get("podSets", [])]
    return mismatch(_exact(wanted), _exact(specs))


def _exact(value: object) -> object:
    """With quantities by their value, and without what is empty."""
    if isinstance(value, dict):
        return {key: _exact(item) for key, item in value.items() if item not in ({}, [], None)}
    if isinstance(value, list):
        return [_exact(item) for item in value]
    try:
        return Quantity.parse(value)
    except BadQuantity:
        return value


def _exceeded(case: Data) -> str | None:
    return _misfits(case["given"]["workloadInfo"]["obj"], case, Surroundings())


def _out_of_range(case: Data) -> str | None:
    return _misfits(case["given"]["workload"], case, _around(case["given"]))


def _misfits(manifest: Data, case: Data, around: Surroundings) -> str | None:
    found: list[Violation] = []
    for at, entry in enumerate(manifest["spec"].get("podSets") or []):
        spec, path = entry["template"]["spec"], f"spec.podSets[{at}].template.spec"
        if "workloadInfo" in case["given"]:
            found += exceeded_limits(spec, path)
        found += violations(around.limit_ranges, spec, path)
    wanted = [(error["field"], error["detail"]) for error in case["expect"]["error"] or []]
    return mismatch(sorted(wanted), sorted((violation.field, violation.message) for violation in found))


# -- order and likeness ------------------------------------------------------------------------------------------------


def _timestamp(case: Data) -> str | None:
    workload, by_priority = (
        read_workload(case["given"]["workload"]),
        case.get("featureGates", {}).get("PrioritySortingWithinCohort", True),
    )
    found = {
        setting: times.rfc3339(Ordering(setting == "Eviction", by_priority).since(workload))
        for setting in case["expect"]["result"]
    }
    return mismatch(case["expect"]["result"], found)


def _same_shape(case: Data) -> str | None:
    boosted = case.get("featureGates", {}).get("PriorityBoost", False)
    first, second = (scheduling_hash(read_workload(case["given"][key], boosted=boosted)) for key in ("wl1", "wl2"))
    return mismatch(case["expect"]["same"], first == second)


def _priority_changed(case: Data) -> str | None:
    boosted = case.get("featureGates", {}).get("PriorityBoost", False)
    before, after = (read_workload(case["given"][key], boosted=boosted) for key in ("oldWorkload", "newWorkload"))
    old, new = before.priority_class, after.priority_class
    named = [each for each in (old, new) if each is not None]
    changes = new is not None and all((each.group, each.kind) == WORKLOAD_PRIORITY_CLASS for each in named)
    differs = new is not None and (old is None or old.name != new.name or before.priority != after.priority)
    return mismatch(case["expect"]["changed"], changes and differs)


def _flavors_left(case: Data) -> str | None:
    state = case["given"].get("state") or {}
    progress = Progress(tuple(places or {} for places in state.get("lastTriedFlavorIdx") or []))
    return mismatch(case["expect"]["pendingFlavors"], progress.pending)


# -- counts ------------------------------------------------------------------------------------------------------------


def _extracted(case: Data) -> str | None:
    workload = read_workload(case["given"]["args"]["workload"])
    return mismatch(case["expect"]["result"] or {}, workload.sizes)


def _applied(case: Data) -> str | None:
    arguments = case["given"]["args"]
    workload, counts = read_workload(arguments["wl"]), arguments.get("counts") or {}
    sized = tuple(replace(each, count=counts.get(each.name, each.count)) for each in workload.pod_sets)
    return mismatch(read_workload(case["expect"]["result"]), replace(workload, pod_sets=sized))


_CHECKS: dict[str, Check] = {
    "TestNewInfo": _new_info,
    "TestUpdateWithRebuild": _rebuilt,
    "TestFlavorResourceUsage": _usage,
    "TestPropagateResourceRequests": _propagated,
    "TestAdjustResources": _adjusted,
    "TestValidateResources": _exceeded,
    "TestValidateLimitRange": _out_of_range,
    "TestGetQueueOrderTimestamp": _timestamp,
    "TestSchedulingHash": _same_shape,
    "TestAssignmentClusterQueueState": _flavors_left,
    "TestWorkloadPriorityClassChanged": _priority_changed,
    "TestExtractPodSetCountsFromWorkload": _extracted,
    "TestApplyPodSetCounts": _applied,
}
