"""`quotree tree`: shape, quota as written, and sums; cycles and deep trees terminate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests import builders
from tests.builders import cluster_queue, cohort, drawn, queue
from tests.cli.runs import execute, run, write
from tests.schemas import checked


def with_quota(manifest: dict[str, Any], *resources: dict[str, Any]) -> dict[str, Any]:
    """A Cohort or ClusterQueue with one group of one flavor."""
    flavor = {"name": "spot", "resources": list(resources)}
    group = {"coveredResources": [resource["name"] for resource in resources], "flavors": [flavor]}
    return {**manifest, "spec": {**manifest["spec"], "resourceGroups": [group]}}


def namespace(name: str, **annotations: str) -> dict[str, Any]:
    return builders.namespace(name, {f"yunikorn.apache.org/{key}": text for key, text in annotations.items()})


def test_volcano_tree_shows_amounts_as_written_and_sums_of_children(tmp_path: Path) -> None:
    queues = drawn("""
        eng     guarantee=cpu:4 deserved=cpu:6,memory:8Gi capability=cpu:8
          ml    guarantee=cpu:1500m deserved=memory:1Gi
          web   guarantee=cpu:1 deserved=memory:512Mi
    """)

    shown = run("tree", write(tmp_path / "a.yaml", *queues)).stdout

    assert shown == (
        "Volcano\n"
        "Queue root (no object here)\n"
        "│  cpu: not set; children: guarantee 4, deserved 6\n"
        "│  memory: not set; children: deserved 8Gi\n"
        "└─ Queue eng\n"
        "   │  cpu: guarantee 4, deserved 6, capability 8; children: guarantee 2500m\n"
        "   │  memory: deserved 8Gi; children: deserved 1536Mi\n"
        "   ├─ Queue ml\n"
        "   │     cpu: guarantee 1500m\n"
        "   │     memory: deserved 1Gi\n"
        "   └─ Queue web\n"
        "         cpu: guarantee 1\n"
        "         memory: deserved 512Mi\n"
    )


def test_kueue_tree_shows_quota_per_flavor_and_an_implicit_cohort(tmp_path: Path) -> None:
    lab = with_quota(cohort("lab", "org"), {"name": "cpu", "nominalQuota": 2, "lendingLimit": 1})
    ml = with_quota(cluster_queue("ml", "lab"), {"name": "cpu", "nominalQuota": "500m", "borrowingLimit": 3})

    shown = run("tree", write(tmp_path / "a.yaml", lab, ml)).stdout

    assert shown == (
        "Kueue\n"
        "Cohort org (no object here)\n"
        "│  spot/cpu: not set; children: nominalQuota 2500m\n"
        "└─ Cohort lab\n"
        "   │  spot/cpu: nominalQuota 2, lendingLimit 1; children: nominalQuota 500m\n"
        "   └─ ClusterQueue ml\n"
        "         spot/cpu: nominalQuota 500m, borrowingLimit 3\n"
    )


def test_stopped_and_closed_queues_are_marked(tmp_path: Path) -> None:
    queues = cluster_queue("ml", "lab", stopPolicy="Hold"), cluster_queue("web", "lab", stopPolicy="None")
    file = write(tmp_path / "a.yaml", *queues, queue("old") | {"status": {"state": "Closed"}})

    assert run("tree", file).stdout == (
        "Kueue\n"
        "Cohort lab (no object here)\n"
        "├─ ClusterQueue ml (stopPolicy Hold)\n"
        "└─ ClusterQueue web\n"
        "Volcano\n"
        "Queue root (no object here)\n"
        "└─ Queue old (state Closed)\n"
    )
    found = checked(json.loads(run("tree", file, "-o", "json").stdout))["nodes"]
    assert [(each["name"], each.get("stopPolicy"), each.get("state")) for each in found] == [
        ("lab", None, None),
        ("ml", "Hold", None),
        ("web", None, None),
        ("root", None, None),
        ("old", None, "Closed"),
    ]


def test_yunikorn_tree_shows_namespaces_with_their_parent_queue(tmp_path: Path) -> None:
    quota = {"namespace.quota": '{"cpu": "4", "memory": "8Gi"}', "namespace.guaranteed": '{"cpu": "1"}'}
    file = write(tmp_path / "a.yaml", namespace("team", parentqueue="root.eng", **quota), namespace("other"))

    assert run("tree", file).stdout == (
        "YuniKorn\nNamespace team (below root.eng)\n   cpu: max 4, guaranteed 1\n   memory: max 8Gi\n"
    )


def test_cycle_is_drawn_with_its_children(tmp_path: Path) -> None:
    file = write(
        tmp_path / "a.yaml", cohort("a", "b"), cohort("b", "a"), cluster_queue("ml", "b"), cohort("own", "own")
    )

    assert run("tree", file).stdout == (
        "Kueue\n"
        "Cohort a (on the cycle a -> b -> a)\n"
        "Cohort b (on the cycle of a)\n"
        "└─ ClusterQueue ml\n"
        "Cohort own (on the cycle own -> own)\n"
    )


def test_a_deep_tree_is_drawn_in_pieces_and_whole(tmp_path: Path) -> None:
    chain = [cohort(f"c{i:04}", f"c{i - 1:04}" if i else None) for i in range(2000)]
    file = write(tmp_path / "a.yaml", *chain)

    lines = run("tree", file).stdout.splitlines()

    assert [f"c{i:04}" for i in range(2000)] == [line.split("Cohort ")[1].split(" ")[0] for line in lines[1:]]
    assert max(map(len, lines)) < 150
    assert "Cohort c0031 (below c0030)" in lines
    assert len(json.loads(run("tree", file, "-o", "json").stdout)["nodes"]) == 2000


@pytest.mark.apiserver
def test_a_terminal_without_unicode_gets_ascii(tmp_path: Path) -> None:
    file = write(tmp_path / "a.yaml", queue("eng"), queue("web"))

    shown = execute("tree", file, env={"PYTHONIOENCODING": "ascii", "PATH": ""})

    assert shown.stdout == "Volcano\nQueue root (no object here)\n|- Queue eng\n`- Queue web\n"


def test_json_lists_every_node_with_its_quota(tmp_path: Path) -> None:
    file = write(tmp_path / "a.yaml", *drawn("eng deserved=cpu:4\n  ml deserved=cpu:3"), cohort("own", "own"))

    answer = json.loads(run("tree", file, "-o", "json").stdout)

    assert answer["cycles"] == [["own"]]
    (eng,) = [node for node in answer["nodes"] if node["name"] == "eng"]
    assert eng == {
        "dialect": "Volcano",
        "kind": "Queue",
        "name": "eng",
        "exists": True,
        "parent": "root",
        "children": ["ml"],
        "quota": [{"flavor": "", "resource": "cpu", "own": {"deserved": "4"}, "children": {"deserved": "3"}}],
    }


def test_queues_of_the_context_are_drawn(tmp_path: Path) -> None:
    held = write(tmp_path / "held.yaml", queue("eng"), queue("old", "eng"))
    given = write(tmp_path / "new.yaml", queue("ml", "eng"))

    shown = run("tree", given, "--against", f"files:{held}").stdout

    assert "   ├─ Queue ml\n   └─ Queue old\n" in shown


def test_input_without_trees_is_reported(tmp_path: Path) -> None:
    file = write(tmp_path / "a.yaml", {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}})

    assert run("tree", file).stdout == "no quota trees here\n"


def test_unreadable_input_exits_3_and_the_rest_is_drawn(tmp_path: Path) -> None:
    write(tmp_path / "a.yaml", cohort("org"))
    (tmp_path / "b.yaml").write_text("kind: [ # kueue.x-k8s.io\n")

    result = run("tree", tmp_path)

    assert result.exit_code == 3
    assert "Cohort org" in result.stdout
    assert "b.yaml:2:1: unreadable: " in result.stderr


def test_tree_without_input_exits_2() -> None:
    assert run("tree", "--against", "nothing").exit_code == 2


# --- one node


ORG = """
    eng     guarantee=cpu:4
      ml    guarantee=cpu:1
        a   guarantee=cpu:1
      web   guarantee=cpu:1
    ops     guarantee=cpu:2
"""


def names(shown: str) -> list[str]:
    return [line.split("Queue ")[1].split(" ")[0] for line in shown.splitlines() if "Queue " in line]


@pytest.fixture
def org(tmp_path: Path) -> Path:
    return write(tmp_path / "trees" / "a.yaml", *drawn(ORG)).parent


def test_a_node_is_drawn_with_its_ancestors_and_all_below(org: Path) -> None:
    shown = run("tree", org, "ml").stdout

    assert names(shown) == ["root", "eng", "ml", "a"]
    assert "cpu: guarantee 4; children: guarantee 2" in shown, "sums are those of the whole tree"
    assert "   └─ Queue ml\n" in shown, "it is the last one of those that are drawn"
    for same in (("queue/ml",), ("--node", "ml"), ("queues/ml",)):
        assert run("tree", org, *same).stdout == shown
    (nodes,) = [json.loads(run("tree", org, "ml", "-o", "json").stdout)["nodes"]]
    assert [each["name"] for each in nodes] == ["root", "eng", "ml", "a"]


def test_children_are_the_node_and_its_direct_children_alone(org: Path) -> None:
    shown = run("tree", org, "eng", "--children").stdout

    assert shown == (
        "Volcano\n"
        "Queue eng (below root)\n"
        "│  cpu: guarantee 4; children: guarantee 2\n"
        "├─ Queue ml\n"
        "│     cpu: guarantee 1; children: guarantee 1\n"
        "└─ Queue web\n"
        "      cpu: guarantee 1\n"
    )
    assert names(run("tree", org, "a", "--children").stdout) == ["a"]
    assert run("tree", org, "--children").exit_code == 2


def test_several_nodes_are_one_drawing(org: Path) -> None:
    assert names(run("tree", org, "a", "ops").stdout) == ["root", "eng", "ml", "a", "ops"]


def test_unknown_node_is_a_usage_error_with_a_suggestion(org: Path) -> None:
    wrong = run("tree", org, "wbe")
    assert (wrong.exit_code, wrong.stderr) == (
        2,
        "Error: there is no queue, Cohort or Namespace named wbe; did you mean 'web'?\n",
    )
    kind = run("tree", org, "cohort/web")
    assert (kind.exit_code, "there is no Cohort named web" in kind.stderr) == (2, True)


def test_file_is_preferred_to_a_node_of_the_same_name(org: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(org.parent)
    write(Path("ml"), *drawn("other guarantee=cpu:1"))

    assert names(run("tree", "ml").stdout) == ["root", "other"]
    assert names(run("tree", "trees", "--node", "ml").stdout) == ["root", "eng", "ml", "a"]
    missing = run("tree", "trees/gone.yaml")
    assert (missing.exit_code, "trees/gone.yaml:1:1: unreadable" in missing.stderr) == (3, True)


def test_nodes_on_and_below_a_cycle_are_drawn(tmp_path: Path) -> None:
    file = write(tmp_path / "a.yaml", cohort("a", "b"), cohort("b", "a"), cohort("own", "own"), cluster_queue("q", "a"))

    assert "Cohort a" in run("tree", file, "q").stdout
    assert run("tree", file, "a", "--children").stdout == (
        "Kueue\nCohort a (below b)\n├─ ClusterQueue q\n└─ Cohort b\n"
    )
    assert run("tree", file, "own", "--children").exit_code == 0


def test_yunikorns_queues_and_namespaces_are_nodes(tmp_path: Path) -> None:
    config = (
        "partitions: [{name: default, queues: [{name: root, queues: [{name: eng, queues: [{name: a}]}, {name: ops}]}]}]"
    )
    file = tmp_path / "queues.yaml"
    file.write_text(config)
    space = write(tmp_path / "ns.yaml", namespace("team", **{"namespace.quota": '{"cpu": "4"}'}), namespace("other"))
    given = (file, space)

    shown = run("tree", *given, "root.eng").stdout
    assert ("root.eng.a" in shown, "root.ops" in shown, "Namespace" in shown) == (True, False, False)
    assert run("tree", *given, "namespace/team").stdout == "YuniKorn\nNamespace team\n   cpu: max 4\n"
    assert run("tree", *given, "root", "--children").stdout.count("root.") == 2


# --- the cluster of the kubeconfig


def test_tree_without_files_reads_the_cluster(tmp_path: Path) -> None:
    nowhere = {"KUBECONFIG": str(tmp_path / "none")}

    shown = run("tree", env=nowhere)
    assert (shown.exit_code, "no files are named: name files, as in quotree tree trees/" in shown.stderr) == (4, True)
    node = run("tree", "reseach", env=nowhere)
    assert (node.exit_code, "there is no file reseach" in node.stderr) == (4, True)


def test_error_of_a_requested_cluster_does_not_mention_missing_files(tmp_path: Path) -> None:
    nowhere = {"KUBECONFIG": str(tmp_path / "none")}

    shown = run("tree", write(tmp_path / "a.yaml", cohort("company")), "--against", "cluster", env=nowhere)
    assert (shown.exit_code, "no such kubeconfig" in shown.stderr, "no files" in shown.stderr) == (4, True, False)
