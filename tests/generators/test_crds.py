from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster.actions import INSTALLED_BY
from generators import crds
from policies.schema import declarations
from tests.profiles import each_case
from webhook.app import CONVERTING

FILES = crds.generate()
_READ = [yaml.load(text, yaml.CSafeLoader) for text in FILES.values()]
CRDS = {content["metadata"]["name"]: content for content in _READ if "metadata" in content}


def nodes(node: Any) -> Iterator[dict[str, Any]]:
    """Every mapping of a document."""
    if isinstance(node, dict):
        yield node
    for inner in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from nodes(inner)


def test_generating_twice_gives_the_same_files() -> None:
    assert crds.generate() == FILES


def test_every_kind_with_a_schema_has_a_crd_that_kustomize_lists() -> None:
    listing = yaml.safe_load(FILES["manifests/crds/kustomization.yaml"])["resources"]
    assert (
        {f"{name}.yaml" for name in CRDS}
        == set(listing)
        == {name.replace(".json", ".yaml") for name in declarations.FILES.values()}
    )


@each_case("name", CRDS)
def test_a_crd_has_no_keywords_of_quotree(name: str) -> None:
    own = [node for node in nodes(CRDS[name]) if crds.OWN & node.keys() or "$ref" in node or "$comment" in node]
    assert own == []


@each_case("name", CRDS)
def test_the_newest_version_is_stored_and_v1beta1_of_kueue_is_served(name: str) -> None:
    spec = CRDS[name]["spec"]
    found = [(v["name"], v["served"], v["storage"], v.get("deprecated", False)) for v in spec["versions"]]
    of_volcano = {"scheduling.volcano.sh": "v1beta1", "batch.volcano.sh": "v1alpha1", "bus.volcano.sh": "v1alpha1"}
    if spec["group"] == "kueue.x-k8s.io":
        assert found == [("v1beta2", True, True, False), ("v1beta1", True, False, True)]
    else:
        assert found == [(of_volcano[spec["group"]], True, True, False)]


@each_case("name", CRDS)
def test_a_crd_has_a_conversion_webhook_if_its_versions_differ(name: str) -> None:
    spec = CRDS[name]["spec"]
    one, *others = [version["schema"]["openAPIV3Schema"]["properties"] for version in spec["versions"]]
    differs = any({**one, "metadata": None} != {**other, "metadata": None} for other in others)

    assert ("conversion" in spec) == differs
    if differs:
        assert spec["conversion"]["strategy"] == "Webhook"
        assert spec["conversion"]["webhook"]["clientConfig"]["service"]["path"] == CONVERTING


@each_case("name", CRDS)
def test_each_crd_has_the_label_of_its_installer(name: str) -> None:
    assert INSTALLED_BY.items() <= CRDS[name]["metadata"]["labels"].items()


@pytest.mark.parametrize(
    ("name", "scope", "short", "columns"),
    [
        ("cohorts.kueue.x-k8s.io", "Cluster", ["co"], ["Age"]),
        (
            "clusterqueues.kueue.x-k8s.io",
            "Cluster",
            ["cq"],
            ["Cohort", "Pending Workloads"],
        ),
        (
            "localqueues.kueue.x-k8s.io",
            "Namespaced",
            ["queue", "queues", "lq"],
            ["ClusterQueue", "Pending Workloads", "Admitted Workloads"],
        ),
        (
            "workloads.kueue.x-k8s.io",
            "Namespaced",
            ["kwl", "kueueworkload", "kueueworkloads"],
            ["Queue", "Reserved in", "Admitted", "Finished", "Age"],
        ),
        ("resourceflavors.kueue.x-k8s.io", "Cluster", ["flavor", "flavors", "rf"], ["Age"]),
        ("queues.scheduling.volcano.sh", "Cluster", ["q", "queue-v1beta1"], ["PARENT"]),
        (
            "podgroups.scheduling.volcano.sh",
            "Namespaced",
            ["pg", "podgroup-v1beta1"],
            ["STATUS", "minMember", "RUNNINGS", "AGE"],
        ),
        (
            "jobs.batch.volcano.sh",
            "Namespaced",
            ["vcjob", "vj"],
            ["STATUS", "minAvailable", "RUNNINGS", "AGE"],
        ),
    ],
)
def test_names_scope_and_columns_are_those_of_the_projects(
    name: str, scope: str, short: list[str] | None, columns: list[str]
) -> None:
    spec = CRDS[name]["spec"]
    assert (spec["scope"], spec["names"].get("shortNames")) == (scope, short)
    shown = [
        each["name"] for each in spec["versions"][0].get("additionalPrinterColumns", []) if not each.get("priority")
    ]
    assert shown == columns, "what is beyond the project's own columns comes with -o wide"


_BASES = (
    Path(__file__).parents[2].parent / "shared" / "repositories" / "kueue" / "config" / "components" / "crd" / "bases"
)
_OF_KUEUE = {
    path.stem.split("_")[-1] + ".kueue.x-k8s.io": path for path in sorted(_BASES.glob("kueue.x-k8s.io_*.yaml"))
}
"""Kueue's own definitions; none where their folder is absent."""
_AGE = ("Age", ".metadata.creationTimestamp", "date", 0)

if _OF_KUEUE:

    @pytest.mark.parametrize("name", [name for name in CRDS if name.endswith(".kueue.x-k8s.io")])
    def test_columns_of_kueue_come_first_and_those_of_quotree_only_with_wide(name: str) -> None:
        """Scripts that read Kueue's tables can read ours. A kind without columns in Kueue shows its age."""
        kueue, ours = yaml.load(_OF_KUEUE[name].read_text(), yaml.CSafeLoader)["spec"], CRDS[name]["spec"]
        for part in ("shortNames", "categories"):
            assert ours["names"].get(part) == kueue["names"].get(part)
        for theirs in kueue["versions"]:
            (version,) = (each for each in ours["versions"] if each["name"] == theirs["name"])
            shown, wanted = _columns(version), _columns(theirs)
            wanted = wanted or ([_AGE] if shown else [])
            assert shown[: len(wanted)] == wanted
            assert all(priority == 1 for *_, priority in shown[len(wanted) :])


def _columns(version: dict[str, Any]) -> list[tuple[str, str, str, int]]:
    return [
        (each["name"], each["jsonPath"], each["type"], each.get("priority", 0))
        for each in version.get("additionalPrinterColumns", [])
    ]


def test_only_kinds_without_a_status_lack_the_status_subresource() -> None:
    without = {name for name, crd in CRDS.items() if "subresources" not in crd["spec"]["versions"][0]}
    settings = ("resourceflavors", "multikueueconfigs", "workloadpriorityclasses", "topologies")
    kueue = {f"{plural}.kueue.x-k8s.io" for plural in (*settings, "provisioningrequestconfigs")}
    assert without == {"podgroups.scheduling.volcano.sh", "commands.bus.volcano.sh", *kueue}


def test_workloads_can_be_selected_by_their_admitting_cluster_queue() -> None:
    version, _ = CRDS["workloads.kueue.x-k8s.io"]["spec"]["versions"]
    assert version["selectableFields"] == [{"jsonPath": ".status.admission.clusterQueue"}]


@each_case("path", FILES)
def test_a_generated_file_names_its_generator(path: str) -> None:
    assert FILES[path].startswith("# Generated by `make generate`")
