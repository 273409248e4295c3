"""What the pods of an admitted job get, and how a template is restored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from policies.dialects.kueue_flavor import Flavor, read_flavor
from policies.dialects.taints import Toleration
from reconciler.jobs.pod_changes import (
    MANAGED_LABELS,
    CannotStart,
    PodChanges,
    changes,
    joined,
    placed,
    restored,
    started,
    without_labels,
)
from scheduling.objects.workload import Admission, CheckState, PodSetAdmission, Workload
from tests.reconciler.jobs.world import K, template
from tests.scheduling.manifests import pod_set, workload

FLAVORS = {
    "one": Flavor("one", {"zone": "a", "disk": "ssd"}, (), (Toleration("t", "Equal", "v", "NoSchedule"),)),
    "two": Flavor("two", {"zone": "b", "gpu": "yes"}, (), (Toleration("t", "Equal", "v", "NoSchedule"),)),
}
BOTH = PodSetAdmission("main", {"cpu": "one", "gpu": "two"}, {"cpu": 1000}, 1)


def changed(read: Workload, flavors: Mapping[str, Flavor]) -> PodChanges:
    found = changes(read, flavors)
    assert found is not None
    return found[0]


def given(queue: str = "cq", assignment: PodSetAdmission = BOTH, checks: tuple[CheckState, ...] = ()) -> PodChanges:
    read = replace(workload(), admission=Admission(queue, (assignment,)), checks=checks)
    return changed(read, FLAVORS)


def check(name: str, **update: Any) -> CheckState:
    return CheckState(name, "Ready", updates=({"name": "main", **update},))


def test_the_first_of_two_flavors_wins_for_a_common_label() -> None:
    assert given().node_selector == {"zone": "a", "disk": "ssd", "gpu": "yes"}


def test_a_flavor_for_several_resources_counts_once() -> None:
    found = given(assignment=replace(BOTH, flavors={"cpu": "one", "memory": "one"}))

    assert found.tolerations == [{"key": "t", "operator": "Equal", "value": "v", "effect": "NoSchedule"}]


def test_a_queue_name_that_is_not_a_label_value_is_not_written() -> None:
    assert given("cq").labels[f"{K}cluster-queue-name"] == "cq"
    assert f"{K}cluster-queue-name" not in given("team.example.com").labels


def test_node_selectors_of_checks_may_agree_but_not_contradict() -> None:
    agreeing = (check("a", nodeSelector={"n": "1"}), check("b", nodeSelector={"n": "1"}))
    assert given(checks=agreeing).node_selector["n"] == "1"

    with pytest.raises(
        CannotStart, match="selector n is to be 2, but the flavor or another admission check sets 1; an "
    ):
        given(checks=(*agreeing, check("c", nodeSelector={"n": "2"})))


def test_pods_are_not_changed_without_an_admission_or_a_flavor() -> None:
    assert changes(workload(), FLAVORS) is None
    assert changes(replace(workload(), admission=Admission("cq", (BOTH,))), {}) is None


@pytest.mark.parametrize("differs", [{"operator": "Equal"}, {}, {"tolerationSeconds": 5}])
def test_a_toleration_that_the_pods_have_is_not_added_again(differs: dict[str, object]) -> None:
    """Without an operator it is the same toleration, and seconds do not matter, as in Kueue."""
    own = {"key": "t", "value": "v", "effect": "NoSchedule", **differs}

    made = started(template(tolerations=[own]), given())

    assert made["spec"]["tolerations"] == [own]


def test_labels_of_an_earlier_admission_are_replaced() -> None:
    before = template()
    before["metadata"] = {"labels": {f"{K}local-queue-name": "old"}, "annotations": {f"{K}workload": "old"}}

    made = started(before, given())

    assert made["metadata"]["labels"][f"{K}local-queue-name"] == "q"
    assert made["metadata"]["annotations"][f"{K}workload"] == "w"


@pytest.mark.parametrize("own", [{}, {"nodeSelector": {"a": "b"}, "schedulingGates": [{"name": "g"}]}])
def test_a_started_template_is_restored(own: dict[str, Any]) -> None:
    original = template(**own)

    assert restored(started(original, given()), original) == original


def test_a_placed_template_is_detected_by_annotation_or_node_selector() -> None:
    assert not placed(template(), given())
    assert not placed(template(nodeSelector={"zone": "a"}), given())
    assert placed(template(nodeSelector={"zone": "edited", "disk": "x", "gpu": "x"}), given())
    assert placed(started(template(), given()), given())


def test_labels_of_the_job_controller_are_left_out() -> None:
    assert without_labels(template(), MANAGED_LABELS)["metadata"]["labels"] == {"app": "a"}


def test_seconds_of_a_toleration_are_read_and_written() -> None:
    toleration = {"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}
    flavor = read_flavor({"metadata": {"name": "f"}, "spec": {"tolerations": [toleration]}})
    read = replace(workload(), admission=Admission("cq", (replace(BOTH, flavors={"cpu": "f"}),)))

    assert changed(read, {"f": flavor}).tolerations == [toleration]


def test_joined_maps_have_the_entries_of_both() -> None:
    assert joined({"a": "1"}, {"b": "2", "a": "1"}, "label") == {"a": "1", "b": "2"}


# --- topologies


PLACES = {"levels": ["kubernetes.io/hostname"], "slices": []}
TOPOLOGY = f"{K}topology"
ANYWHERE = f"{K}podset-unconstrained-topology"


@pytest.mark.parametrize(
    ("request_", "marked"),
    [
        ({"required": "rack"}, False),
        ({"preferred": "rack"}, False),
        ({"unconstrained": True}, False),
        ({"podSetSliceRequiredTopology": "rack", "podSetSliceSize": 2}, True),
        ({"podIndexLabel": "i"}, True),
        (None, True),
    ],
)
def test_pods_with_an_assignment_get_the_topology_gate_and_annotation(
    request_: dict[str, Any] | None, marked: bool
) -> None:
    read = workload({**pod_set(), **({"topologyRequest": request_} if request_ is not None else {})})
    held = replace(read, admission=Admission("cq", (replace(BOTH, topology=PLACES),)))
    own = {"spec": {**template()["spec"], "schedulingGates": [{"name": "own"}]}}
    made = started(own, changed(held, FLAVORS))

    assert made["spec"]["schedulingGates"] == [{"name": "own"}, {"name": TOPOLOGY}]
    assert (made["metadata"]["annotations"].get(ANYWHERE) == "true") is marked
    assert restored(made, own)["spec"]["schedulingGates"] == [{"name": "own"}]
    assert ANYWHERE not in restored(made, own).get("metadata", {}).get("annotations", {})


def test_pods_without_an_assignment_get_no_gate() -> None:
    assert "schedulingGates" not in started(template(), given())["spec"]
