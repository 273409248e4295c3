"""Pods of Namespaces with a quota of YuniKorn get the gate when they are created."""

from __future__ import annotations

from typing import Any

import pytest

from policies.configuration.settings import Configuration, Enforce, YuniKornSettings
from policies.model.change import Operation, User
from policies.model.forest import Forest
from policies.mutation.defaults import patch
from policies.mutation.patching import patched
from tests.builders import typed
from tests.scheduling.yunikorn.manifests import namespace, pod

GATES = Configuration(yunikorn=YuniKornSettings(enforce=Enforce.GATES))
ANNA, KUBELET = User("anna"), User("system:node:n", ("system:nodes",))
QUOTA = {"namespace_quota": '{"cpu":"1"}'}


def stored(
    manifest: dict[str, Any], space: dict[str, Any] | None, configuration: Configuration = GATES, user: User = ANNA
) -> dict[str, Any]:
    forest = Forest().put_all([typed(space)] if space else [])
    found: dict[str, Any] = patched(manifest, patch(manifest, forest, configuration, user=user))
    return found


def is_held(manifest: dict[str, Any]) -> bool:
    gate = {"name": "quotree.dev/quota"} in manifest["spec"].get("schedulingGates", [])
    assert gate == (manifest["metadata"].get("labels", {}).get("quotree.dev/quota") == "yunikorn")
    return gate


@pytest.mark.parametrize(
    "notes",
    [
        QUOTA,
        {"namespace_max_cpu": "1"},
        {"namespace_max_memory": "1G"},
        {"namespace_maxApps": "1"},
        {"namespace_guaranteed": '{"cpu":"1"}'},
        {"parentqueue": "root.team"},
        {"namespace_quota": "{broken"},
        {**QUOTA, "namespace_enableYuniKorn": "true"},
    ],
)
def test_whatever_limits_the_namespace_holds_its_pods(notes: dict[str, str]) -> None:
    assert is_held(stored(pod("p", "a"), namespace("dev", **notes)))


@pytest.mark.parametrize("notes", [{}, {"namespace_quota": ""}, {**QUOTA, "namespace_enableYuniKorn": "True"}])
def test_pods_of_other_namespaces_are_left_alone(notes: dict[str, str]) -> None:
    assert not is_held(stored(pod("p", "a"), namespace("dev", **notes)))


def test_nothing_is_held_unless_that_is_switched_on_nor_what_a_kubelet_mirrors() -> None:
    space = namespace("dev", **QUOTA)

    assert not is_held(stored(pod("p", "a"), space, Configuration()))
    assert not is_held(stored(pod("p", "a"), space, user=KUBELET))


def test_a_namespace_that_is_not_known_yet_holds_its_pods() -> None:
    assert is_held(stored(pod("p", "a"), None))


def test_a_pod_that_says_that_it_was_admitted_says_so_no_more_and_other_gates_stay() -> None:
    made = pod("p", "a")
    made["metadata"]["annotations"] |= {"quotree.dev/quota-admitted": "root.dev", "mine": "x"}
    made["spec"]["schedulingGates"] = [{"name": "example.com/mine"}]

    found = stored(made, namespace("dev", **QUOTA))

    assert is_held(found)
    assert found["metadata"]["annotations"] == {"mine": "x"}
    assert [gate["name"] for gate in found["spec"]["schedulingGates"]] == ["example.com/mine", "quotree.dev/quota"]
    assert stored(found, namespace("dev", **QUOTA)) == found, "nothing is filled in twice"


def test_the_label_by_hand_holds_as_well() -> None:
    made = pod("p", "a")
    made["metadata"]["labels"]["quotree.dev/quota"] = "yunikorn"

    assert is_held(stored(made, namespace("dev")))


def test_namespaces_with_quota_have_the_label_as_long_as_they_have_quota() -> None:
    labelled = stored(namespace("dev", **QUOTA), None)
    assert labelled["metadata"]["labels"] == {"quotree.dev/quota": "yunikorn"}

    del labelled["metadata"]["annotations"]
    assert not patched(labelled, patch(labelled, Forest(), GATES, Operation.UPDATE))["metadata"]["labels"]
    assert not patch(labelled, Forest(), Configuration(), Operation.UPDATE)
