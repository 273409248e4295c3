"""A change as quoted shell commands, and suggestions of existing names."""

from __future__ import annotations

import json
import shlex
from typing import Any

from dashboard.what_if.commands import commands
from dashboard.what_if.manifests import LAST_APPLIED
from policies.mutation.patching import merge_patch
from tests.builders import cluster_queue, flavor, group
from tests.dashboard.people import ADMIN, TENANT, signed_in
from tests.dashboard.what_if.answers import QUOTA, cluster


def test_a_merge_patch_turns_one_object_into_the_other() -> None:
    before = {"a": 1, "gone": 2, "same": [1], "in": {"x": 1, "y": 2}}
    after = {"a": 3, "same": [1], "in": {"x": 1, "y": 4}, "new": {}}

    assert merge_patch(before, after) == {"gone": None, "a": 3, "in": {"y": 4}, "new": {}}
    assert merge_patch(before, before) == {}


def queue(cpu: int, **meta: Any) -> dict[str, Any]:
    made = cluster_queue("a", "org", group("cpu", flavor("spot", cpu=cpu)))
    return {**made, "metadata": {**made["metadata"], **meta}}


def test_a_stored_object_is_patched_without_fields_of_the_api_server() -> None:
    old = queue(4, resourceVersion="7", uid="u", annotations={LAST_APPLIED: "{}", "note": "it's"})
    new = queue(8, annotations={"note": "it's"})

    kubectl, verb, kind, name, merge, flag, patch = shlex.split(commands({"ClusterQueue/a": old}, [new]))

    assert (kubectl, verb, kind, name) == ("kubectl", "patch", "clusterqueues.kueue.x-k8s.io", "a")
    assert (merge, flag) == ("--type=merge", "-p")
    assert json.loads(patch) == {"spec": {"resourceGroups": new["spec"]["resourceGroups"]}}


def test_quotes_in_a_manifest_do_not_end_the_argument() -> None:
    old, new = queue(4), queue(4, annotations={"note": "'; rm -rf / #"})

    assert json.loads(shlex.split(commands({"ClusterQueue/a": old}, [new]))[-1]) == {
        "metadata": {"annotations": {"note": "'; rm -rf / #"}}
    }


def test_a_new_object_is_applied() -> None:
    text = commands({"ClusterQueue/a": None}, [queue(4)])

    assert text.startswith("kubectl apply -f - <<'EOF'\napiVersion:")
    assert text.endswith("\nEOF")
    assert commands({"ClusterQueue/a": queue(4)}, [queue(4)]) == ""


def test_the_page_has_the_command_and_suggests_existing_names() -> None:
    page = signed_in(cluster(), ADMIN).post("/what-if", data={**QUOTA, "do": "show"}).text

    assert "kubectl patch clusterqueues.kueue.x-k8s.io a --type=merge -p" in page
    assert '<datalist id="names"><option value="a"></option><option value="b"></option>' in page
    assert '<datalist id="resources"><option value="cpu"></option></datalist>' in page
    assert 'list="flavors"' in page


def test_a_user_who_may_not_see_trees_gets_no_suggestions() -> None:
    page = signed_in(cluster(), TENANT).get("/what-if")

    assert page.status_code == 200
    assert "<datalist" not in page.text
    assert "list=" not in page.text
