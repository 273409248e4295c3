from __future__ import annotations

from itertools import permutations
from typing import Any

import jsonpatch
import pytest

from policies.model.findings import Profile, Severity
from tests.builders import COMPAT, change, cluster_queue, cohort, flavor, found, group, holding, world
from tests.policies.rules.kueue_quotas import evaluate
from tests.profiles import each_case

RULE = "flavor-resources-mismatch"
NODES = [cohort, cluster_queue]
EMPTY = world()
FIELD = "spec.resourceGroups[0].flavors[0].resources"


@pytest.mark.parametrize("make", NODES)
def test_flavor_with_all_covered_resources_passes(make: Any) -> None:
    flavors = flavor("spot", cpu="1", memory="1Gi"), flavor("fixed", cpu="0", memory="0")

    assert found(RULE, change(EMPTY, holding(make("x"), group("cpu memory", *flavors)))) == []


@pytest.mark.parametrize("make", NODES)
def test_each_resource_in_the_wrong_order_is_reported(make: Any) -> None:
    manifest = holding(make("x"), group("cpu gpu memory", flavor("spot", memory="1Gi", gpu="1", cpu="1")))

    first, second = found(RULE, change(EMPTY, manifest))

    assert (first.field, second.field) == (f"{FIELD}[0].name", f"{FIELD}[2].name")
    assert first.message == "flavor spot lists memory where its group covers cpu"
    assert first.fix == "list under flavor spot exactly cpu, gpu, memory, in this order"
    assert first.profiles == set(Profile)


@each_case("order", list(permutations(["cpu", "gpu", "memory", "pods"])))
def test_patch_reorders_resources_and_keeps_their_amounts(order: tuple[str, ...]) -> None:
    amounts = {"cpu": "1", "gpu": "2", "memory": "3", "pods": "4"}
    covered = group("cpu gpu memory pods", flavor("spot", **{name: amounts[name] for name in order}))
    manifest = holding(cluster_queue("x"), covered)

    patch = [step for finding in found(RULE, change(EMPTY, manifest)) for step in finding.patch]

    assert jsonpatch.apply_patch(manifest, patch) == holding(
        cluster_queue("x"), group("cpu gpu memory pods", flavor("spot", **amounts))
    )


@pytest.mark.parametrize("make", NODES)
def test_a_resource_that_is_missing_is_named(make: Any) -> None:
    (finding,) = found(RULE, change(EMPTY, holding(make("x"), group("cpu memory", flavor("spot", cpu="1")))))

    assert finding.field == FIELD
    assert finding.message == "flavor spot lists 1 resource, but its group covers 2; it lacks memory"
    assert finding.patch == ()


@pytest.mark.parametrize("make", NODES)
def test_a_resource_that_is_not_covered_is_named(make: Any) -> None:
    manifest = holding(make("x"), group("cpu", flavor("spot", cpu="1", gpu="1", memory="1Gi")))
    (finding,) = found(RULE, change(EMPTY, manifest))

    assert finding.field == FIELD
    assert finding.message == "flavor spot lists 3 resources, but its group covers 1; gpu, memory are not covered"


def test_only_the_mismatched_flavor_is_reported() -> None:
    flavors = flavor("good", cpu="1"), flavor("bad", gpu="1")
    (finding,) = found(RULE, change(EMPTY, holding(cluster_queue("x"), group("cpu", *flavors))))

    assert finding.field == "spec.resourceGroups[0].flavors[1].resources[0].name"
    assert finding.patch == ()


@pytest.mark.parametrize(
    "wrong",
    [
        {"coveredResources": ["cpu"], "flavors": [{"name": "spot"}]},
        {"coveredResources": ["cpu"], "flavors": [{"name": "spot", "resources": [{"nominalQuota": "1"}]}]},
        {"flavors": [flavor("spot", cpu="1")]},
        {"coveredResources": [3], "flavors": [flavor("spot", cpu="1")]},
    ],
)
def test_malformed_flavor_is_reported_only_as_bad_structure(wrong: dict[str, Any]) -> None:
    verdict = evaluate(change(EMPTY, holding(cluster_queue("x"), wrong)))

    assert {judged.rule.id for judged in verdict.findings} == {"bad-structure"}


def test_a_mismatch_that_was_there_before_only_warns_in_strict() -> None:
    wrong = group("cpu memory gpu", flavor("spot", cpu="1"))
    before = world(holding(cluster_queue("x"), wrong))
    better = holding(cluster_queue("x"), group("cpu memory gpu", flavor("spot", cpu="1", memory="1Gi")))

    assert [judged.severity for judged in evaluate(change(before, better)).findings] == [Severity.WARNING]
    assert not evaluate(change(before, better, configuration=COMPAT)).allowed
    worse = holding(cluster_queue("x"), group("cpu memory gpu pods", flavor("spot", cpu="1")))
    assert not evaluate(change(before, worse)).allowed
