"""Kueue's own tables: the cohort tree, the validating webhooks, and schema and webhooks together.

A case is covered where the verdict lies in what our rules read: names, parents, resource groups, fair-sharing weights.
Whether it does is told by the kind and the field of the expected error, or by what the object has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from policies import structure
from policies.configuration import Configuration
from policies.dialects import READERS, group_kind, read
from policies.dialects.kueue import ClusterQueue, Cohort, QuotaNode, cluster_queue_ref, cohort_ref
from policies.forest import Forest
from policies.objects import KubeObject
from policies.proposal import Change, propose
from policies.rule import Profile, Severity
from policies.verdict import evaluate
from tests.conformance.suite import Case, Data, Suite, mismatch, table

_COMPAT = Configuration(profile=Profile.COMPAT)
_QUOTA_KINDS = ("Cohort", "ClusterQueue")

_WEBHOOKS = (
    "TestValidateCohort",
    "TestValidateClusterQueue",
    "TestValidateClusterQueueUpdate",
    "TestValidateTotalFlavors",
    "TestValidateTotalCoveredResources",
    "TestValidateFlavorResourceCombinations",
)

_COVERED_ERRORS = {
    "FieldValueDuplicate": r"spec\.resourceGroups\[\d+\]\.(coveredResources\[\d+\]|flavors\[\d+\]\.name)",
    "FieldValueInvalid": r"spec\.fairSharing|spec\.resourceGroups\[\d+\]\.(coveredResources\[\d+\]"
    r"|flavors\[\d+\]\.resources\[\d+\]\.(name|nominalQuota|borrowingLimit|lendingLimit))",
}
_COUNTED = re.compile(r"spec\.resourceGroups\[\d+\]\.flavors\[\d+\]\.resources").fullmatch
"""Where flavor-resources-mismatch tells of a wrong number of resources, which the CEL of Kueue's schema refuses."""
_TOTALS = re.compile(r"spec\.resourceGroups(\[\d+\])?").fullmatch
_UNREAD = ("namespaceSelector", "admissionChecksStrategy", "concurrentAdmissionPolicy")
"""Parts of a spec that Kueue's webhook looks into and no rule of ours does yet."""


def suites(folder: Path) -> Iterator[Suite]:
    kueue = folder / "kueue"
    if not kueue.is_dir():
        return
    yield _tree(kueue / "cache-hierarchy" / "TestManager.json", _edges)
    yield _tree(kueue / "cache-hierarchy" / "TestCycles.json", _cycles)
    for name in _WEBHOOKS:
        yield _webhook(kueue / "webhooks" / f"{name}.json")
    for file in sorted((kueue / "webhooks-integration").glob("*.json")):
        yield _integration(file)


# -- the cohort tree ---------------------------------------------------------------------------------------------------


def _tree(file: Path, outcome: Callable[[Forest, Data], Data]) -> Suite:
    suite = Suite(f"kueue/{file.stem}")
    for case in table(file):
        check = partial(_replayed, case["given"]["operations"], case["expect"], outcome)
        suite.cases.append(Case(case["name"], check))
    return suite


def _replayed(operations: list[Data], expected: Data, outcome: Callable[[Forest, Data], Data]) -> str | None:
    forest = Forest()
    for operation in operations:
        forest = _step(forest, operation)
    return mismatch(expected, outcome(forest, expected))


def _step(forest: Forest, operation: Data) -> Forest:
    name, verb = operation["name"], operation["op"]
    is_queue = "ClusterQueue" in verb
    ref = cluster_queue_ref(name) if is_queue else cohort_ref(name)
    if verb.startswith("Delete"):
        return forest.drop(ref)
    node = forest.node(ref)
    if not isinstance(node, QuotaNode):
        kind = ClusterQueue if is_queue else Cohort
        node = kind(ref=ref, api_version="kueue.x-k8s.io/v1beta2", parent=None, parent_field="spec.cohortName")
    if verb.startswith("Update"):
        parent = operation.get("parent")
        node = replace(node, parent=cohort_ref(parent) if parent else None)
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
    refs = {name: cohort_ref(name) for name in expected["cycles"]}
    return {
        "cycles": {
            name: any(forest.on_cycle(step) for step in (ref, *forest.ancestors(ref))) for name, ref in refs.items()
        }
    }


# -- the webhooks alone ------------------------------------------------------------------------------------------------


def _webhook(file: Path) -> Suite:
    suite = Suite(f"kueue/{file.stem}")
    for case in table(file):
        given, expected = case["given"], case["expect"]
        before = given.get("oldClusterQueue")
        after = given.get("newClusterQueue") or given.get("clusterQueue") or given.get("cohort")
        errors = expected.get("errors") or expected.get("actualErrors") or []
        covered = [error for error in errors if _is_covered(error, after)]
        if errors and not covered:
            suite.leave_out("the webhook refuses it for what no rule of ours reads")
        else:
            fields = sorted(error["field"] for error in covered)
            suite.cases.append(Case(case["name"], partial(_errors_match, before, after, fields)))
    return suite


def _is_covered(error: Data, manifest: Data) -> bool:
    if error["type"] == "FieldValueInvalid" and _TOTALS(error["field"]):
        return "concurrentAdmissionPolicy" not in manifest.get("spec", {})  # which has limits of its own, not read yet
    pattern = _COVERED_ERRORS.get(error["type"])
    return pattern is not None and re.fullmatch(pattern, error["field"]) is not None


def _errors_match(before: Data | None, after: Data, expected: list[str]) -> str | None:
    found = _refusals(_bare(before) if before else None, _bare(after))
    return mismatch(expected, sorted(_upstream_path(field) for field in found if not _COUNTED(field)))


def _bare(manifest: Data) -> KubeObject:
    """The object without what its schema alone refuses: the table calls the webhook without an API server before it."""
    thing = _typed(manifest)
    by_schema = {defect.field for defect in structure.defects(manifest)}
    return replace(thing, defects=tuple(defect for defect in thing.defects if defect.field not in by_schema))


def _upstream_path(field: str) -> str:
    """Kueue names the block where we name the field in it."""
    return field.removesuffix(".weight")


# -- schema and webhook together ---------------------------------------------------------------------------------------


def _integration(file: Path) -> Suite:
    suite = Suite(f"kueue/{file.stem}")
    for case in table(file):
        given, expected = case["given"], case["expect"]
        reason = _left_out(given, expected)
        if reason:
            suite.leave_out(reason)
        else:
            check = partial(_verdict_matches, given["object"], expected["allowed"])
            suite.cases.append(Case(case["name"], check))
    return suite


def _left_out(given: Data, expected: Data) -> str | None:
    """Why our rules do not cover the case; None where they do."""
    manifest = given.get("object")
    if "allowed" not in expected:
        return "it is about defaults, or about more than one step"
    if manifest is None or given["operation"] != "create":
        return "it needs an object in the API server, or one that the case describes only"
    if group_kind(manifest) not in READERS:
        return "no rule of ours reads this kind"
    if expected.get("by") == "webhook" and not _is_read(manifest):
        return "the webhook refuses it, and it has parts that no rule of ours reads"
    return None


def _is_read(manifest: Data) -> bool:
    """Whether our rules read all that Kueue's webhook looks into."""
    return manifest["kind"] in _QUOTA_KINDS and not any(manifest.get("spec", {}).get(part) for part in _UNREAD)


def _verdict_matches(manifest: Data, allowed: bool) -> str | None:
    found = _refusals(None, _typed(manifest))
    return None if allowed is not bool(found) else f"expected allowed: {allowed}, got refusals at {found}"


def _refusals(before: KubeObject | None, after: KubeObject) -> list[str]:
    """The fields for which all rules together refuse this change in an empty cluster, in compat."""
    world = Forest() if before is None else Forest().put(before)
    verdict = evaluate(propose(world, [Change(before, after)], _COMPAT))
    return [judged.finding.field for judged in verdict.of(Severity.ERROR)]


def _typed(manifest: Data) -> KubeObject:
    thing = read(manifest)
    assert thing is not None
    return thing
