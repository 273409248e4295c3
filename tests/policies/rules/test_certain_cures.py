"""A finding with one possible fix has a patch; a finding with an ambiguous fix has none."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import jsonpatch
import pytest

from policies.judge import judge
from policies.model.change import Change
from policies.model.forest import Forest
from policies.model.quantity import Quantity, correction
from tests.builders import cluster_queue, queue, typed
from tests.profiles import each_case


@each_case(
    ("wrong", "meant"),
    [
        ("64MiB", "64Mi"),
        ("64 GiB", "64Gi"),
        ("64mb", "64M"),
        ("64gi", "64Gi"),
        ("1 000", "1000"),
        ("1_000", "1000"),
        ("500µ", "500u"),
        (Decimal("1.5"), "1.5"),
        ("64K", None),
        ("64g", None),
        ("1,5", None),
        ("four", None),
        ("", None),
        ("-", None),
        (True, None),
        (None, None),
        ([], None),
        (float("nan"), None),
        ("9" * 2000, None),
    ],
)
def test_quantity_typo_is_corrected_if_unambiguous(wrong: object, meant: str | None) -> None:
    assert correction(wrong) == meant
    if meant is not None:
        assert Quantity.parse(meant)


def cured(manifest: dict[str, Any]) -> dict[str, Any]:
    """The manifest after all patches; none of the findings that had one is left."""
    found = judge(Forest(), [Change(None, typed(manifest))]).verdict.findings
    patches = [step for each in found for step in each.finding.patch]
    after: dict[str, Any] = jsonpatch.apply_patch(manifest, patches)
    left = judge(Forest(), [Change(None, typed(after))]).verdict.findings
    fixed = {each.finding.identity for each in found if each.finding.patch}
    assert not fixed & {each.finding.identity for each in left}
    return after


def test_wrong_units_are_patched() -> None:
    wrong = queue("eng")
    wrong["spec"]["capability"] = {"memory": "64GB", "cpu": Decimal("1.5"), "nvidia.com/gpu": "8K"}

    assert cured(wrong)["spec"]["capability"] == {"memory": "64G", "cpu": "1.5", "nvidia.com/gpu": "8K"}


@pytest.mark.parametrize("slip", ["queueingstrategy", "queueing_strategy", "Queueing-Strategy"])
def test_a_field_in_other_letters_is_renamed(slip: str) -> None:
    wrong = cluster_queue("ml")
    wrong["spec"].pop("queueingStrategy", None)
    wrong["spec"][slip] = "StrictFIFO"

    assert cured(wrong)["spec"]["queueingStrategy"] == "StrictFIFO"


def test_a_field_of_another_version_is_renamed() -> None:
    wrong = cluster_queue("ml")
    wrong["apiVersion"] = "kueue.x-k8s.io/v1beta2"
    wrong["spec"].pop("cohortName", None)
    wrong["spec"]["cohort"] = "lab"

    after = cured(wrong)["spec"]

    assert "cohort" not in after
    assert after["cohortName"] == "lab"


def test_field_is_not_renamed_to_an_existing_field() -> None:
    wrong = cluster_queue("ml", "lab")
    wrong["apiVersion"] = "kueue.x-k8s.io/v1beta2"
    wrong["spec"] |= {"cohortName": "lab", "cohort": "other"}

    assert cured(wrong) == wrong


def test_wrong_case_and_quoted_numbers_are_patched() -> None:
    wrong = cluster_queue("ml")
    wrong["spec"]["queueingStrategy"] = "strictFifo"
    volcano = queue("eng")
    volcano["spec"] |= {"weight": "3", "reclaimable": "true"}

    assert cured(wrong)["spec"]["queueingStrategy"] == "StrictFIFO"
    assert cured(volcano)["spec"] == {**volcano["spec"], "weight": 3, "reclaimable": True}
