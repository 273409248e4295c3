"""`quotree diff`: what it compares, what it prints, and its JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders import FLAVOR, Manifest, cohort, flavor, group, holding, namespace, queue, queued_job
from tests.cli.organisations import local, org_queue
from tests.cli.repository import Repository
from tests.cli.runs import compared, report, run, write

RECLAIM = {"preemption": {"reclaimWithinCohort": "Any"}}
WORK = (FLAVOR, local("a"), local("b"), queued_job("first", "b", 4), queued_job("second", "a", 6))
BEFORE = (org_queue("a", 4, "org", **RECLAIM), org_queue("b", 4, "org"), queue("eng", deserved="cpu:4"))
AFTER = (org_queue("a", 6, "org", **RECLAIM), org_queue("b", 2, "org"), queue("eng", deserved="cpu:5"))


@pytest.fixture
def before(tmp_path: Path) -> Path:
    return write(tmp_path / "before" / "all.yaml", *WORK, *BEFORE).parent


@pytest.fixture
def after(tmp_path: Path) -> Path:
    return write(tmp_path / "after" / "all.yaml", *WORK, *AFTER).parent


def test_text_lists_quota_gains_losses_and_preempted_and_admitted_work(before: Path, after: Path) -> None:
    shown = run("diff", after, "--base", f"files:{before}")

    assert shown.exit_code == 0
    assert shown.stdout == (
        f"compared with the files in {before}: 3 objects applied\n"
        "2 nodes gain, 1 node loses\n"
        "\n"
        "quota:\n"
        "  ClusterQueue a gains\n"
        "      spot/cpu: own 4 -> 6, subtree 4 -> 6\n"
        "  ClusterQueue b loses\n"
        "      spot/cpu: own 4 -> 2, subtree 4 -> 2\n"
        "  Queue eng gains\n"
        "      cpu: own 4 -> 5, subtree 4 -> 5\n"
        "\n"
        "work:\n"
        "  preempted  Job ns/first in b for Job ns/second in a: InCohortReclamation\n"
        "  admitted   Job ns/second in a\n"
        "\n"
        "could be preempted when others want their quota back:\n"
        "  ClusterQueue b borrows 2 of spot/cpu: Job ns/first\n"
    )


def test_json_has_the_nodes_quota_and_work_of_the_text(before: Path, after: Path) -> None:
    found = report(run("diff", after, "--base", f"files:{before}", "-o", "json"))

    assert [(each["name"], each["effect"]) for each in found["nodes"]] == [
        ("a", "gains"),
        ("b", "loses"),
        ("eng", "gains"),
    ]
    assert found["nodes"][0]["quota"] == [
        {
            "flavor": "spot",
            "resource": "cpu",
            "before": {"own": "4", "subtree": "4", "guaranteed": "0", "reach": "8"},
            "after": {"own": "6", "subtree": "6", "guaranteed": "0", "reach": "8"},
        }
    ]
    (lost,) = found["lost"]
    assert (lost["what"], lost["job"]["name"], lost["for"]["name"]) == ("preempted", "first", "second")
    assert [each["job"]["name"] for each in found["admitted"]] == ["second"]


def test_the_same_files_change_nothing(before: Path) -> None:
    shown = run("diff", before, "--base", f"files:{before}")

    assert shown.stdout == f"compared with the files in {before}: 0 objects applied\nno quota changes\n"


def test_a_change_on_top_of_files_deletes_nothing(before: Path, tmp_path: Path) -> None:
    change = write(tmp_path / "change.yaml", org_queue("b", 2, "org"))

    found = report(run("diff", change, "--against", f"files:{before}", "-o", "json"))

    assert found["deleted"] == []
    assert [(each["name"], each["effect"]) for each in found["nodes"]] == [
        ("a", "loses"),
        ("b", "loses"),
        ("org", "loses"),
    ]


def test_a_value_of_another_type_is_a_change(tmp_path: Path) -> None:
    before = write(tmp_path / "before" / "a.yaml", cohort("org") | {"spec": {"fairSharing": {"weight": 1}}})
    after = write(tmp_path / "after" / "a.yaml", cohort("org") | {"spec": {"fairSharing": {"weight": True}}})

    found = report(run("diff", after, "--base", f"files:{before}", "-o", "json"))

    assert found["applied"] == 1


def test_prune_deletes_objects_missing_from_the_files(before: Path, tmp_path: Path) -> None:
    change = write(tmp_path / "change.yaml", org_queue("a", 4, "org", **RECLAIM))

    found = report(run("diff", change, "--against", f"files:{before}", "--prune", "-o", "json"))

    assert [each["name"] for each in found["deleted"]] == ["b"]


def test_objects_only_in_the_base_are_deleted(tmp_path: Path) -> None:
    found = compared(tmp_path, [*BEFORE, cohort("org")], [*BEFORE[1:]])

    assert sorted(each["name"] for each in found["deleted"]) == ["a", "org"]
    assert ("a", "loses") in [(each["name"], each["effect"]) for each in found["nodes"]]


def test_deleted_queue_still_in_use_is_reported(tmp_path: Path) -> None:
    old = write(tmp_path / "old.yaml", *WORK, *BEFORE)
    new = write(tmp_path / "new.yaml", *WORK, BEFORE[0], BEFORE[2])

    shown = run("diff", new, "--base", f"files:{old}").stdout

    assert shown == (
        f"compared with the files in {old}: 0 objects applied, 1 deleted\n"
        "no quota changes yet, 1 deleted object still in use\n"
        "\n"
        "deleted, but still in use:\n"
        "  ClusterQueue b admits nothing new, and keeps its quota until its work ends: Job ns/first\n"
    )


def test_base_and_context_can_be_combined(before: Path, tmp_path: Path) -> None:
    old = write(tmp_path / "old.yaml", org_queue("c", 2, "org"))
    new = write(tmp_path / "new.yaml", org_queue("d", 2, "org"))

    shown = run("diff", new, "--base", f"files:{old}", "--against", f"files:{before}")

    assert f"compared with the files in {old} and the files in {before}: 1 object applied, 1 deleted" in shown.stdout
    assert "ClusterQueue c is deleted" in shown.stdout
    assert "ClusterQueue d is created" in shown.stdout


def test_a_namespace_of_yunikorn_is_a_node_too(tmp_path: Path) -> None:
    quota = "yunikorn.apache.org/namespace.quota"

    found = compared(
        tmp_path, [namespace("team", {quota: '{"cpu": "4"}'})], [namespace("team", {quota: '{"cpu": "2"}'})]
    )

    (node,) = found["nodes"]
    assert (node["kind"], node["name"], node["effect"]) == ("Namespace", "team", "loses")


def test_queues_where_only_the_reach_changes_are_summarized(tmp_path: Path) -> None:
    def organisation(cpu: int) -> list[Manifest]:
        pool = holding(cohort("org"), group("cpu", flavor("spot", cpu=cpu)))
        return [FLAVOR, pool, *(org_queue(f"q{i}", 1, "org") for i in range(30))]

    old = write(tmp_path / "old.yaml", *organisation(10))
    new = write(tmp_path / "new.yaml", *organisation(8))

    shown = run("diff", new, "--base", f"files:{old}").stdout

    assert "Cohort org loses" in shown
    assert "and 10 more, where only the reach changes" in shown
    assert shown.count("ClusterQueue") == 20


def test_unreadable_object_is_reported_and_the_rest_is_compared(before: Path, tmp_path: Path) -> None:
    bad = org_queue("b", 2, "org")
    bad["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"] = "two"
    change = write(tmp_path / "change.yaml", bad, org_queue("a", 5, "org", **RECLAIM))

    shown = run("diff", change, "--against", f"files:{before}")

    assert shown.exit_code == 1
    assert "ClusterQueue b is left out" in shown.stderr
    assert "ClusterQueue a gains" in shown.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "name what the files are compared with"),
        (("--base", "files:"), "--base files:: name the folder"),
    ],
)
def test_diff_without_a_base_is_a_usage_error(before: Path, options: tuple[str, ...], message: str) -> None:
    shown = run("diff", before, *options)

    assert shown.exit_code == 2
    assert message in shown.stderr


def test_escape_sequences_in_names_are_not_printed(tmp_path: Path) -> None:
    old, new = (write(tmp_path / f"{n}.yaml", queue("a\x1b[2J", deserved=f"cpu:{n}")) for n in (1, 2))

    assert "\x1b" not in run("diff", new, "--base", f"files:{old}").stdout


def test_two_files_without_a_base_are_rejected_with_a_suggestion(tmp_path: Path) -> None:
    old, new = write(tmp_path / "old.yaml", queue("eng")), write(tmp_path / "new.yaml", queue("eng"))

    refused = run("diff", old, new)

    assert refused.exit_code == 2
    assert f"{new} --base files:{old}, or" in refused.stderr


@pytest.fixture
def clusters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """Three clusters whose queues have the same names."""
    made = Repository.make(tmp_path / "clone")
    monkeypatch.chdir(made.folder)
    for name, quota in (("dev", 4), ("prod", 40), ("test", 6)):
        made.put(f"clusters/{name}/queues.yaml", FLAVOR, org_queue("a", quota, "org"))
        made.put(f"clusters/{name}/more.yaml", org_queue("b", quota, "org"))
    made.commit()
    return made


@pytest.mark.apiserver  # git is run
def test_only_the_changed_organisation_is_compared(clusters: Repository) -> None:
    clusters.put("clusters/prod/queues.yaml", FLAVOR, org_queue("a", 30, "org"))

    shown = run("diff", "clusters", "--base", "main")

    assert "  ClusterQueue a loses\n      spot/cpu: own 40 -> 30, subtree 40 -> 30, reach 80 -> 70\n" in shown.stdout
    assert shown.stderr == ""


@pytest.mark.apiserver  # git is run
def test_organisation_with_a_deleted_file_is_compared(clusters: Repository) -> None:
    (clusters.folder / "clusters/prod/more.yaml").unlink()

    assert "1 deleted\n" in run("diff", "clusters", "--base", "main").stdout


@pytest.mark.apiserver  # git is run
def test_each_of_several_changed_organisations_is_compared(clusters: Repository) -> None:
    for name in ("test", "prod"):
        clusters.put(f"clusters/{name}/queues.yaml", FLAVOR, org_queue("a", 30, "org"))

    shown = run("diff", "clusters", "--base", "main")

    _, first, second = shown.stdout.split("compared with ")
    assert first.startswith("main:clusters/prod (commit ")
    assert "own 40 -> 30" in first
    assert second.startswith("main:clusters/test (commit ")
    assert "own 6 -> 30" in second
    assert shown.stderr == ""

    answer = report(run("diff", "clusters", "--base", "main", "-o", "json"))
    assert [(each["kind"], each["nodes"][0]["effect"]) for each in answer["items"]] == [
        ("Diff", "loses"),
        ("Diff", "gains"),
    ]

    page = run("diff", "clusters", "--base", "main", "-o", "markdown").stdout
    assert page.startswith("## Quotree: 2 organisations differ\n")
    assert "### main:clusters/test (commit " in page


@pytest.mark.apiserver  # git is run
def test_order_is_of_the_first_of_several_changed_organisations(clusters: Repository) -> None:
    for name in ("test", "prod"):
        clusters.put(f"clusters/{name}/queues.yaml", FLAVOR, org_queue("a", 30, "org"))

    said = run("order", "clusters", "--base", "main").stderr
    assert said.startswith("main:clusters/prod (commit ")
    assert "differ; only main:clusters/prod (commit " in said


def test_unchanged_objects_without_names_are_not_counted_as_applied(before: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(before / name / "settings.yaml", {"apiVersion": "example.com/v1", "kind": "Settings", "of": name})
    (after := tmp_path / "after").symlink_to(before)

    assert run("diff", after, "--base", f"files:{before}").stdout.startswith(
        f"compared with the files in {before}: 0 objects applied\n"
    )
