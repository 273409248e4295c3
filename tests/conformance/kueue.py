"""Kueue's own tables: the cohort tree, the validating webhooks, and schema and webhooks together.

A case is left out where it sets a feature gate that no rule of ours asks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import jsonpatch

from policies.configuration.kueue.gates import OF_WEBHOOKS, KueueVersion
from policies.configuration.settings import Configuration, KueueSettings
from policies.dialects import read
from policies.dialects.kueue import CLUSTER_QUEUE, COHORT, ClusterQueue, Cohort, KueueNode
from policies.judge import evaluate
from policies.judging.changes import changed
from policies.judging.rule import propose
from policies.judging.verdict import Verdict
from policies.model.change import Change
from policies.model.findings import Profile, Severity
from policies.model.forest import Forest
from policies.model.objects import KubeObject
from policies.mutation.defaults import patch
from policies.schema import structure
from tests.conformance import integration, kueue_cache
from tests.conformance.suite import Check, Data, Suite, mismatch, suite

_COMPAT = Configuration(profile=Profile.COMPAT)

_WEBHOOKS = (
    "TestValidateCohort",
    "TestValidateClusterQueue",
    "TestValidateClusterQueueUpdate",
    "TestValidateTotalFlavors",
    "TestValidateTotalCoveredResources",
    "TestValidateFlavorResourceCombinations",
    "TestValidateResourceFlavor",
    "TestValidateWorkload",
    "TestValidateWorkloadUpdate",
)

_COUNTED = re.compile(r"spec\.resourceGroups\[\d+\]\.flavors\[\d+\]\.resources").fullmatch
"""Where flavor-resources-mismatch tells of a wrong number of resources, which the CEL of Kueue's schema refuses."""
_AFTER = ("newClusterQueue", "clusterQueue", "cohort", "resourceFlavor", "workload", "after")
_REPEATED = ("spec.flavorFungibility.preference", "spec.preemption.borrowWithinCohort.policy")
"""CEL of the schema that Kueue's webhook checks once more."""


def suites(folder: Path) -> Iterator[Suite]:
    kueue = folder / "kueue"
    if not kueue.is_dir():
        return
    yield _tree(kueue / "cache-hierarchy" / "TestManager.json", _edges, kueue_cache.same_edges)
    yield _tree(kueue / "cache-hierarchy" / "TestCycles.json", _cycles, kueue_cache.same_cycles)
    for name in _WEBHOOKS:
        yield _webhook(kueue / "webhooks" / f"{name}.json")
    for file in sorted((kueue / "webhooks-integration").glob("*.json")):
        yield _integration(file)


# -- the cohort tree ---------------------------------------------------------------------------------------------------


def _tree(file: Path, outcome: Callable[[Forest, Data], Data], scheduling: Check) -> Suite:
    """The rules and the scheduling have a tree each: a case holds where both agree with it."""
    replayed = partial(_replayed, outcome)
    return suite("kueue", file, lambda case: replayed(case) or scheduling(case))


def _replayed(outcome: Callable[[Forest, Data], Data], case: Data) -> str | None:
    forest, expected = Forest(), case["expect"]
    for operation in case["given"]["operations"] or ():
        forest = _step(forest, operation)
    found = outcome(forest, expected)
    return mismatch({name: expected[name] or type(value)() for name, value in found.items()}, found)


def _step(forest: Forest, operation: Data) -> Forest:
    name, verb = operation["name"], operation["op"]
    is_queue = "ClusterQueue" in verb
    ref = CLUSTER_QUEUE.named(name) if is_queue else COHORT.named(name)
    if verb.startswith("Delete"):
        return forest.drop(ref)
    node = forest.node(ref)
    if not isinstance(node, KueueNode):
        kind = ClusterQueue if is_queue else Cohort
        node = kind(ref=ref, api_version="kueue.x-k8s.io/v1beta2", parent=None, parent_field="spec.cohortName")
    if verb.startswith("Update"):
        parent = operation.get("parent")
        node = replace(node, parent=COHORT.named(parent) if parent else None)
    return forest.put(node)


def _edges(forest: Forest, _: Data) -> Data:
    nodes = sorted(forest.nodes(), key=lambda node: node.ref)
    queues = {node.ref.name: node for node in nodes if isinstance(node, ClusterQueue)}
    cohorts = {node.ref.name: node for node in nodes if isinstance(node, Cohort)}
    implicit = {node.parent.name for node in nodes if node.parent is not None}
    return {
        "clusterQueues": sorted(queues),
        "cohorts": sorted({*cohorts, *implicit}),
        "cqEdge": {name: node.parent.name for name, node in queues.items() if node.parent},
        "cohortEdge": {name: node.parent.name for name, node in cohorts.items() if node.parent},
    }


def _cycles(forest: Forest, expected: Data) -> Data:
    refs = {name: COHORT.named(name) for name in expected["cycles"] or ()}
    return {
        "cycles": {
            name: any(forest.on_cycle(step) for step in (ref, *forest.ancestors(ref))) for name, ref in refs.items()
        }
    }


# -- the webhooks alone ------------------------------------------------------------------------------------------------


def _webhook(file: Path) -> Suite:
    return suite("kueue", file, _errors_match, _unknown_gate)


def _unknown_gate(case: Data) -> str:
    unknown = set(case.get("featureGates", {})) - set(OF_WEBHOOKS[KueueVersion.V0_19])
    return f"no rule of ours asks the feature gate {', '.join(sorted(unknown))}" if unknown else ""


def _errors_match(case: Data) -> str | None:
    given, expected = case["given"], case["expect"]
    before = given.get("oldClusterQueue") or given.get("before")
    after = next(given[key] for key in _AFTER if key in given)
    verdict = _verdict(_bare(before) if before else None, _bare(after), case.get("featureGates", {}))
    errors = sorted({_upstream_path(judged.finding.field) for judged in verdict.of(Severity.ERROR)})
    wanted = expected.get("errors") or expected.get("actualErrors") or []
    return (
        mismatch(expected["allowed"], verdict.allowed)
        or mismatch(sorted({_our_path(error["field"], after) for error in wanted}), errors)
        or mismatch(len(expected.get("warnings") or []), len(verdict.of(Severity.WARNING)))
    )


def _bare(manifest: Data) -> KubeObject:
    """The object without what its schema alone refuses: the table calls the webhook without an API server before it."""
    obj = _typed(manifest)
    by_schema = {defect.field for defect in structure.defects(manifest)} - set(_REPEATED)
    return replace(obj, defects=tuple(defect for defect in obj.defects if defect.field not in by_schema))


def _upstream_path(field: str) -> str:
    """Kueue names the block where we name the field in it."""
    field = re.sub(r"(nodeLabels|labels|annotations|nodeSelector|matchLabels)(\.[^.\[]+|\[.*\])$", r"\1", field)
    return field.removesuffix(".weight").removesuffix(".borrowWithinCohort.policy")


def _our_path(field: str, manifest: Data) -> str:
    """Where we write an index Kueue sometimes writes a name, or a dot."""
    field = re.sub(r"^spec\.podSets\.(\d+)$", r"spec.podSets[\1]", field)
    field = re.sub(r"\[kueue\.x-k8s\.io/[a-z-]+\]$", "", field)
    named = re.fullmatch(r"status\.reclaimablePods\[([^\]]+)\](.*)", field)
    if not named:
        return re.sub(r"\[([a-z][A-Za-z0-9_-]*)\]$", r".\1", field)
    names = [entry["name"] for entry in manifest.get("status", {}).get("reclaimablePods") or []]
    at = f"[{names.index(named[1])}]" if named[1] in names else ""
    return f"status.reclaimablePods{at}{named[2]}"


# -- schema and webhook together ---------------------------------------------------------------------------------------


def _integration(file: Path) -> Suite:
    return suite(
        "kueue", file, lambda case: _defaults_match(case) if "object" in case["expect"] else _answers_match(case)
    )


def _defaults_match(case: Data) -> str | None:
    """Of the defaults those that the mutating webhook fills in; the rest is the schema's, which a server shows."""
    manifest = case["given"]["object"]
    patched = jsonpatch.apply_patch(manifest, patch(manifest, Forest(), _COMPAT))
    wanted = case["expect"]["object"]["metadata"].get("finalizers")
    return mismatch(wanted, patched["metadata"].get("finalizers"))


def _answers_match(case: Data) -> str | None:
    """Each write against what the writes before have left, as an API server goes on."""
    stored: Data | None = None
    for step in integration.steps(case):
        after = integration.written(stored, step)
        found = _refusals(stored, after, step.subresource)
        if step.allowed is bool(found):
            return f"expected allowed: {step.allowed}, got refusals at {found}"
        stored = after if step.allowed else stored
    return None


def _refusals(before: Data | None, after: Data, subresource: str) -> list[str]:
    """The fields for which all rules together refuse this change in an empty cluster, in compat."""
    change = changed(before, after, subresource)
    assert change is not None
    verdict = evaluate(propose(Forest(), [change], _COMPAT))
    return [judged.finding.field for judged in verdict.of(Severity.ERROR)]


def _verdict(before: KubeObject | None, after: KubeObject, gates: dict[str, bool]) -> Verdict:
    world = Forest() if before is None else Forest().put(before)
    configuration = replace(_COMPAT, kueue=KueueSettings(feature_gates=gates))
    verdict = evaluate(propose(world, [Change(before, after)], configuration))
    return replace(verdict, findings=tuple(each for each in verdict.findings if not _COUNTED(each.finding.field)))


def _typed(manifest: Data) -> KubeObject:
    obj = read(manifest)
    assert obj is not None
    return obj
