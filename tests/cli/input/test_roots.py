"""A repository may have several organisations: its roots, skipped files, and duplicate objects."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.exits import Exit
from cli.input.external import programs
from policies.dialects.kueue_jobs import QUEUE_NAME
from tests.builders import batch_job, cluster_queue, cohort, local_queue, manifest, queue, template
from tests.cli.repository import Repository
from tests.cli.runs import BAD, GOOD, WORSE, Manifest, report, run, write

TEMPLATE = "{{- if .Values.queue }}\napiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\n{{- end }}\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def looked(*arguments: object) -> dict[str, Any]:
    context: dict[str, Any] = report(run("validate", *arguments, "-o", "json"))["context"]
    return context


def rules(*arguments: object) -> list[str]:
    return [each["rule"] for each in report(run("validate", *arguments, "-o", "json"))["findings"]]


FLAVOR = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "default"}}


def organisation(cohort_of_queue: str) -> list[Manifest]:
    """A flavor, a queue that another organisation has in another cohort, and its door."""
    return [
        FLAVOR,
        cluster_queue("main", cohort_of_queue),
        cohort(cohort_of_queue),
        local_queue("door", "main"),
    ]


def test_folders_that_contradict_each_other_are_roots_of_their_own(here: Path) -> None:
    write(here / "clusters" / "prod" / "a.yaml", *organisation("org"))
    write(here / "clusters" / "dev" / "a.yaml", *organisation("lab"))

    result = run("validate", ".")

    assert result.exit_code == 0
    assert "2 roots: clusters/dev, clusters/prod\n" in result.stdout


def test_common_objects_are_visible_in_every_root(here: Path) -> None:
    write(here / "common" / "org.yaml", cohort("org"), cohort("lab"))
    for name, parent in (("prod", "org"), ("dev", "lab")):
        write(here / name / "a.yaml", cluster_queue("main", parent), local_queue("door", "main"))

    assert looked(".")["roots"] == ["", "dev", "prod"]
    assert rules(".") == []


def test_contradicting_files_of_one_folder_are_separate_roots(here: Path) -> None:
    write(here / "one.yaml", *organisation("org"))
    write(here / "two.yaml", *organisation("lab"))

    assert looked(".")["roots"] == ["one.yaml", "two.yaml"]
    assert rules(".") == []


def test_reference_to_an_object_of_another_root_is_not_missing(here: Path) -> None:
    write(here / "examples" / "one.yaml", *organisation("org"))
    write(here / "examples" / "two.yaml", *organisation("lab"))
    write(here / "jobs" / "a.yaml", local_queue("other", "main"))
    assert rules(".") == []

    write(here / "jobs" / "a.yaml", local_queue("other", "maim"))
    assert "maim" in run("validate", ".").stdout


@pytest.mark.parametrize(
    ("namespace", "found"), [("ml", ["local-queue-missing"]), ("lab", []), (None, [])], ids=["other", "same", "none"]
)
def test_local_queue_of_another_root_counts_only_for_its_namespace(
    here: Path, namespace: str | None, found: list[str]
) -> None:
    write(here / "examples" / "one.yaml", *organisation("org"), local_queue("user", "main", "lab"))
    write(here / "examples" / "two.yaml", *organisation("lab"), local_queue("user", "main", "lab"))
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train", "labels": {QUEUE_NAME: "user"}}}
    job["metadata"] |= {"namespace": namespace} if namespace else {}
    write(here / "jobs" / "a.yaml", local_queue("other", "main", "else"), {**job, "spec": {"template": template()}})

    assert rules(".") == found


def test_object_duplicated_in_two_files_of_a_folder_is_an_error(here: Path) -> None:
    write(here / "a.yaml", cluster_queue("main", "org"), cohort("org"))
    write(here / "b.yaml", cluster_queue("main", "lab"), cohort("lab"))

    answer = report(run("validate", ".", "-o", "json"))

    (finding,) = answer["findings"]
    assert (finding["rule"], finding["severity"], finding["file"]) == ("given-twice", "error", "b.yaml")
    assert [cause["file"] for cause in finding["causes"]] == ["a.yaml"]


def test_files_that_are_named_are_one_organisation(here: Path) -> None:
    files = [write(here / name, *organisation(parent)) for name, parent in (("one.yaml", "org"), ("two.yaml", "lab"))]

    assert "given-twice" in rules(*files)


@pytest.mark.parametrize("form", ["sarif", "junit", "markdown", "github", "gitlab", "tap", "html", "yaml", "table"])
def test_all_formats_have_the_findings_of_all_roots(here: Path, form: str) -> None:
    write(here / "prod" / "a.yaml", *organisation("org"), BAD, WORSE)
    write(here / "dev" / "a.yaml", *organisation("lab"), BAD, GOOD)
    write(
        here / "test" / "a.yaml",
        *organisation("test"),
        cluster_queue("web", "nowhere"),
        cohort("a", "b"),
        cohort("b", "a"),
    )

    result = run("validate", ".", "-o", form)

    assert result.exit_code == 1
    for place in ("prod/a.yaml", "test/a.yaml"):
        assert place in result.stdout.replace("&#46;", "."), form
    assert form == "gitlab" or "dev/a.yaml:" not in result.stdout


def test_each_option_makes_a_separate_root(here: Path) -> None:
    write(here / "prod.yaml", *organisation("org"))
    write(here / "dev.yaml", *organisation("lab"))
    write(here / "rest" / "a.yaml", cohort("c"))

    assert looked("--each", "prod.yaml", "--each", "dev.yaml")["roots"] == ["prod.yaml", "dev.yaml"]
    assert looked("--each", "*.yaml")["roots"] == ["dev.yaml", "prod.yaml"]
    assert looked(".", "--each", "*.yaml")["roots"] == ["", "dev.yaml", "prod.yaml"]
    assert looked("--each", ".")["roots"] == ["."]
    assert "given-twice" in rules("--each", ".")
    assert run("validate", "--each", "nowhere").exit_code == 2


def test_quotree_yaml_sets_the_roots_and_their_context(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(here / "held" / "a.yaml", cohort("org"))
    write(here / "prod" / "a.yaml", cluster_queue("main", "org"))
    write(here / "dev" / "deep" / "a.yaml", cluster_queue("main"))
    write(here / "other" / "a.yaml", BAD, WORSE)
    (here / "quotree.yaml").write_text("roots:\n- path: prod\n  against: files:held\n- path: dev\n")

    assert looked(".")["roots"] == ["prod", "dev"]
    assert run("validate", ".").exit_code == 0
    monkeypatch.chdir(here / "dev" / "deep")
    assert looked(".")["roots"] == [".."]
    assert run("validate", "../../other/a.yaml").exit_code == 1
    assert run("validate", "../../other").exit_code == 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("roots:\n- path: nowhere\n", "quotree.yaml:2:9: roots[0].path: nowhere: no such file or folder"),
        ("roots:\n- path: ../x\n", "roots[0].path: ../x is not below the folder of this file"),
        ("roots:\n- path: /etc\n", "roots[0].path: /etc is not below the folder of this file"),
        ("roots:\n- path: away\n", "quotree.yaml:2:9: roots[0].path: away: a link leads out of the folder"),
        ("roots:\n- path: away/../tmp\n", "roots[0].path: away/../tmp: no such file or folder"),
        ("roots:\n- path: a*\n", "roots[0].path: a*: a link leads out of the folder"),
        ("roots:\n- path: prod\n  against: files:..\n", "roots[0].against: .. is not below the folder of this file"),
        ("roots:\n- path: prod\n  against: files:away\n", "roots[0].against: away is not below the folder"),
        ("roots:\n- path: prod\n  against: snapshot:/etc/hostname\n", "/etc/hostname is not below the folder"),
        ("roots:\n- path: prod\n  against: cluster\n", "quotree.yaml:3:12: roots[0].against: a file that was found"),
        ("roots:\n- path: prod\n  against: cluster:lab\n", "may not ask a cluster; if you trust the file, name it"),
        ("roots:\n- paht: prod\n", "roots[0].path"),
        ("roots:\n- path: prod\n  agianst: cluster\n", "unknown key; did you mean 'against'?"),
        ("roots:\n- path: prod\n  against: files:nowhere\n", "roots[0].against"),
        ("roots: prod\n", "roots: expected a list"),
        ("roots: []\n", "roots: names no root"),
    ],
)
def test_error_in_quotree_yaml_has_its_position(here: Path, text: str, says: str) -> None:
    write(here / "prod" / "a.yaml", cohort("org"))
    (here / "away").symlink_to("..")
    (here / "quotree.yaml").write_text(text)

    result = run("validate", ".")

    assert result.exit_code == 2
    assert says in result.stderr


@pytest.mark.parametrize("by", ["--config", "QUOTREE_CONFIG"])
def test_quotree_yaml_named_by_the_user_may_read_a_cluster(here: Path, by: str) -> None:
    write(here / "prod" / "a.yaml", cohort("org"))
    file = here / "quotree.yaml"
    file.write_text("roots:\n- path: prod\n  against: cluster:nowhere\n")
    login = {"KUBECONFIG": str(here / "none")}

    if by == "--config":
        result = run("validate", ".", by, file, env=login)
    else:
        result = run("validate", ".", env={by: str(file), **login})

    assert result.exit_code == 4
    assert "cluster nowhere" in result.output


def test_quotree_yaml_with_a_manifest_is_judged_as_a_manifest(here: Path) -> None:
    write(here / "quotree.yaml", cohort("org"))

    assert looked(".")["kinds"] == {"Cohort": 1}


def test_exclude_and_quotreeignore_leave_files_out(here: Path) -> None:
    write(here / "a.yaml", cohort("a"))
    write(here / "old" / "b.yaml", cohort("b"))
    write(here / "deep" / "old" / "c.yaml", cohort("c"))
    write(here / "deep" / "keep.yaml", cohort("d"))

    assert looked(".", "--exclude", "old/")["objects"] == 2
    assert looked(".", "--exclude", "/old/", "--exclude", "a.yaml")["objects"] == 2
    (here / ".quotreeignore").write_text("# of last year\n*.yaml\n!keep.yaml\n")
    assert looked(".")["kinds"] == {"Cohort": 1}
    assert looked(".")["passedOver"] == {"excluded": 3}
    assert looked("a.yaml")["objects"] == 1


def test_go_vendor_folder_is_skipped_unless_named(here: Path) -> None:
    write(here / "vendor" / "k8s.io" / "api" / "testdata" / "queue.yaml", BAD, WORSE)
    assert rules(".") != []

    (here / "vendor" / "modules.txt").write_text("# k8s.io/api v0.34.0\n")

    assert rules(".") == []
    assert rules("vendor") != []


@pytest.mark.parametrize("pattern", ["!", "a\\", "[z-a]"])
def test_a_wrong_pattern_is_refused_as_an_option_and_matches_nothing_in_a_file(here: Path, pattern: str) -> None:
    write(here / "a.yaml", cohort("a"))
    write(here / "old" / "b.yaml", cohort("b"))

    refused = run("validate", ".", "--exclude", pattern)
    (here / ".quotreeignore").write_text(f"{pattern}\nold/\n")

    assert (refused.exit_code, f"--exclude {pattern}: this is not a pattern" in refused.stderr) == (Exit.USAGE, True)
    assert looked(".")["kinds"] == {"Cohort": 1}


@pytest.mark.parametrize("make", [os.symlink, os.link])
def test_a_file_that_two_organisations_share_by_a_link_is_in_both(here: Path, make: Any) -> None:
    write(here / "a" / "shared.yaml", BAD)
    write(here / "a" / "ml.yaml", GOOD)
    write(here / "b" / "ml.yaml", WORSE)
    make(here / "a" / "shared.yaml", here / "b" / "shared.yaml")

    (finding,) = report(run("validate", ".", "-o", "json"))["findings"]

    assert (finding["rule"], finding["file"]) == ("children-deserved-exceed-parent", "b/shared.yaml")


def test_within_option_reports_only_findings_in_the_named_files(here: Path) -> None:
    write(here / "eng.yaml", BAD)
    write(here / "ml.yaml", WORSE)
    write(here / "web.yaml", GOOD | {"metadata": {"name": "web"}})
    (here / "chart.yaml").write_text(TEMPLATE)

    assert run("validate", "--within", ".", "eng.yaml", "chart.yaml").exit_code == 1
    assert run("validate", "--within", ".", "web.yaml", "chart.yaml").exit_code == 0


def test_foreign_files_are_skipped_and_counted_by_reason(here: Path) -> None:
    write(here / "a.yaml", cohort("org"))
    (here / "broken.yaml").write_text("apiVersion: x\na: [\n")
    (here / "data.json").write_text('{"a": 1}\n{"a": 2}\n')
    (here / "rendered.yaml").write_text(TEMPLATE)
    (here / "named.yaml").write_text("apiVersion: kueue.x-k8s.io/v1beta2\nkind: Cohort\nmetadata: {name: '${TEAM}'}\n")
    (here / "terraform.yaml").write_text("scheduler: yunikorn\n%{ if enabled ~}\nreplicas: 1\n%{ endif ~}\n")
    (here / "workflow.yml").write_text("on: push\njobs: {}\n")
    (here / "slurm.yaml").write_text("partitions: {all: {enabled: true}}\n")
    (here / "patch.yaml").write_text("- {op: add, path: /spec, value: {apiVersion: kueue.x-k8s.io/v1beta2}}\n")
    (here / "disks.yaml").write_text("partitions: [{name: root, size: 10}]\n")
    (here / "latin.yaml").write_bytes("apiVersion: x\nkind: Note\ntext: Jürgen\n".encode("latin-1"))
    (here / "wide.yaml").write_bytes("a: 1\n".encode("utf-16"))
    (here / "gone.yaml").symlink_to("nowhere")
    (here / "loop.yaml").symlink_to("loop.yaml")
    (here / "around").symlink_to(".")
    write(here / "service.yaml", {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}})

    result = run("validate", ".")

    assert result.exit_code == 0
    assert result.stdout == (
        "judged against nothing but the given files: 1 object, 1 queue\n"
        "read 15 files: 1 with objects that are judged (Cohort 1), 14 skipped (6 not Kubernetes manifests,"
        " 3 templates, 2 neither readable nor of these API groups, 2 that lead to no file, 1 with other kinds only)\n"
        "not evaluated[queue-named-like-cohort]: not all objects of ClusterQueue are known\n"
        "1 rule not evaluated\n"
    )


@pytest.mark.parametrize(
    "name",
    [
        *("${TEAM}", "$TEAM", "<team>-queue", "__TEAM__", "($team)", "{{ .Values.team }}", "<% team %>"),
        *("@TEAM@-queue", "%TEAM%"),
    ],
)
def test_placeholder_in_a_name_makes_a_template(here: Path, name: str) -> None:
    write(here / "a.yaml", cohort(name))

    assert looked(".")["passedOver"] == {"templates": 1}


def test_unparsable_file_with_placeholders_is_a_template(here: Path) -> None:
    (here / "a.yaml").write_text("apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nspec: @SPEC@\n")

    assert looked(".")["passedOver"] == {"templates": 1}


@pytest.mark.parametrize(
    "meta",
    [
        {"labels": {"team": "ml__EU__west", "state": "TEAM_PLACEHOLDER"}},
        {"managedFields": [{"manager": "$TOOL", "operation": "Update"}]},
    ],
)
def test_a_valid_text_that_looks_like_a_placeholder_hides_nothing(here: Path, meta: Manifest) -> None:
    hidden = queue("ml", "eng", deserved="cpu:6")
    write(here / "a.yaml", queue("eng", deserved="cpu:4"), {**hidden, "metadata": hidden["metadata"] | meta})

    assert rules(".") == ["children-deserved-exceed-parent"]


@pytest.mark.parametrize(
    "free",
    [
        {"extendClusters": [{"name": "$EAST"}]},
        {"affinity": {"nodeGroupAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": ["$A"]}}},
    ],
)
def test_free_text_field_that_looks_like_a_placeholder_is_judged(here: Path, free: Manifest) -> None:
    hidden = queue("ml", "eng", deserved="cpu:6")
    write(here / "a.yaml", queue("eng", deserved="cpu:4"), {**hidden, "spec": hidden["spec"] | free})

    assert "children-deserved-exceed-parent" in rules(".")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("metadata: {name: ml}\nmetadata: {name: org}\n", "the key 'metadata' occurs twice in this mapping"),
        ("metadata: !team {name: ml}\n", "the tag !team has no meaning in a manifest; remove it"),
        ("metadata: {name: !team ml}\n", "the tag !team has no meaning in a manifest; remove it"),
    ],
)
def test_invalid_manifest_is_not_skipped_as_a_template(here: Path, text: str, message: str) -> None:
    (here / "a.yaml").write_text("# for ${TEAM}\napiVersion: kueue.x-k8s.io/v1beta2\nkind: Cohort\n" + text)

    result = run("validate", ".")

    assert result.exit_code == 1
    assert message in result.stderr


def test_cloudformation_template_that_mentions_kueue_is_skipped(here: Path) -> None:
    (here / "stack.yaml").write_text("# installs kueue.x-k8s.io\nRole: !Sub '${Stack}-role'\napiVersion: 1\n")

    assert looked(".")["passedOver"] == {"templates": 1}


def test_utf_16_kueue_manifest_is_unreadable(here: Path) -> None:
    (here / "a.yaml").write_bytes(yaml.safe_dump(cohort("org")).encode("utf-16"))

    result = run("validate", ".")

    assert result.exit_code == 1
    assert result.stderr.startswith("a.yaml:1:1: unreadable: this is UTF-16; save it as UTF-8\n")


def test_placeholders_in_fields_that_no_rule_reads_do_not_make_a_template(here: Path) -> None:
    container = {"name": "main", "image": "${IMAGE}", "resources": {"requests": {"cpu": "1 GB"}}}
    pod = {"containers": [container], "serviceAccountName": "$ACCOUNT", "volumes": [{"name": "<data>"}]}
    write(here / "a.yaml", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": pod})

    assert rules(".") == ["bad-quantity"]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("unparsed.yaml", TEMPLATE),
        ("unnamed.yaml", "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: '${TEAM}'}\n"),
        ("main.yaml", "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: main, uid: $UID}\n"),
        ("queue.yaml.j2", TEMPLATE),
        ("queue.tftpl", TEMPLATE),
        ("chart/templates/queue.yaml", TEMPLATE),
    ],
)
def test_object_that_a_template_may_declare_is_not_reported_as_missing(
    here: Path, monkeypatch: pytest.MonkeyPatch, file: str, text: str
) -> None:
    monkeypatch.setattr(programs, "find", lambda *_: None)
    write(here / "door.yaml", local_queue("door", "main"))
    assert rules(".") == ["cluster-queue-missing"]
    (here / file).parent.mkdir(parents=True, exist_ok=True)
    (here / file).write_text(text)
    if "chart" in file:
        (here / "chart" / "Chart.yaml").write_text("apiVersion: v2\nname: chart\nversion: 1.0.0\n")

    result = run("validate", ".")

    assert result.exit_code == 0
    assert "not evaluated[cluster-queue-missing" in result.stdout
    assert "warning" not in result.stdout


@pytest.mark.parametrize(
    ("version", "kind", "spec"),
    [
        ("work.open-cluster-management.io/v1", "ManifestWork", {"workload": {"manifests": [cluster_queue("main")]}}),
        ("kubernetes.crossplane.io/v1alpha2", "Object", {"forProvider": {"manifest": cluster_queue("main")}}),
    ],
)
def test_object_embedded_in_another_object_is_not_reported_as_missing(
    here: Path, version: str, kind: str, spec: dict[str, Any]
) -> None:
    write(here / "door.yaml", local_queue("door", "main"))
    write(here / "carried.yaml", manifest(version, kind, "queues", spec))

    result = run("validate", ".")

    assert (result.exit_code, "warning" in result.stdout) == (0, False)
    assert "not all objects of ClusterQueue are known" in result.stdout


def test_queue_that_kyverno_generates_in_each_namespace_is_not_reported_as_missing(here: Path) -> None:
    generated = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "name": "door",
        "namespace": "{{request.object.metadata.name}}",
        "data": {"spec": {"clusterQueue": "main"}},
    }
    rules_of_policy = {"rules": [{"name": "queue", "generate": generated}]}
    write(here / "policy.yaml", manifest("kyverno.io/v1", "ClusterPolicy", "queues", rules_of_policy))
    write(here / "queue.yaml", local_queue("other", "main", "ml"), cluster_queue("main"))
    write(here / "job.yaml", batch_job("train", namespace="ml", labels={QUEUE_NAME: "door"}))
    assert rules(".") == []

    write(here / "job.yaml", batch_job("train", namespace="ml", labels={QUEUE_NAME: "window"}))
    assert rules(".") == ["local-queue-missing"]


@pytest.mark.parametrize("inner", [cluster_queue("other"), {**cluster_queue("main"), "metadata": None}])
def test_embedded_object_of_another_name_does_not_hide_a_missing_one(here: Path, inner: Manifest) -> None:
    write(here / "door.yaml", local_queue("door", "main"))
    given = {key: value for key, value in inner.items() if value is not None}
    write(here / "other.yaml", manifest("work.open-cluster-management.io/v1", "ManifestWork", "queues", {"of": given}))

    assert rules(".") == ["cluster-queue-missing"]


def test_object_that_an_unreadable_document_may_declare_is_not_reported_as_missing(here: Path) -> None:
    queue_with_a_tab = yaml.safe_dump(cluster_queue("main")) + "\t# tab\n"
    door = yaml.safe_dump(local_queue("door", "main"))
    (here / "a.yaml").write_text(f"{queue_with_a_tab}---\n{door}")

    answer = report(run("validate", ".", "-o", "json"))

    assert [each["message"] for each in answer["unreadable"]] == ["a tab cannot indent YAML; use spaces"]
    assert answer["findings"] == []
    assert "cluster-queue-missing" in {each["rule"] for each in answer["notEvaluated"]}


def test_template_of_another_name_does_not_hide_a_missing_object(here: Path) -> None:
    write(here / "door.yaml", local_queue("door", "main"))
    (here / "other.yaml").write_text(
        "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: other, uid: $UID}\n"
    )

    assert rules(".") == ["cluster-queue-missing"]


def test_unreadable_kueue_file_and_unreadable_named_file_fail(here: Path) -> None:
    (here / "torn.yaml").write_text("apiVersion: kueue.x-k8s.io/v1beta2\nspec: {a: [\n")
    (here / "chart.tpl").write_text(TEMPLATE)

    assert run("validate", ".").exit_code == 1
    assert "torn.yaml:3:1: unreadable: " in run("validate", ".").stderr
    assert run("validate", "chart.tpl").exit_code == 3


def test_broken_foreign_manifest_that_mentions_kueue_is_skipped(here: Path) -> None:
    text = "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\na: kueue.x-k8s.io\na: 2\n"
    (here / "csv.yaml").write_text(text)

    assert looked(".")["passedOver"] == {"neither readable nor of these API groups": 1}


@pytest.mark.parametrize("text", [None, "on: push\n", "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n"])
def test_run_without_judged_objects_does_not_report_nothing_wrong(here: Path, text: str | None) -> None:
    if text is not None:
        (here / "a.yaml").write_text(text)

    result = run("validate", ".")

    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "nothing was judged")
    assert "nothing is wrong" not in run("validate", ".", "-o", "junit").stdout
    assert run("validate", ".", "--require-objects").exit_code == 5


def test_other_commands_pass_over_the_same_files(here: Path) -> None:
    write(here / "a.yaml", cohort("org"), cluster_queue("main", "org"))
    (here / "data.json").write_text('{"a": 1}\n{"a": 2}\n')
    (here / "template.yaml").write_text(TEMPLATE)

    for arguments in (["simulate", "."], ["tree", "."], ["fix", "."], ["diff", ".", "--base", "files:."]):
        result = run(*arguments)
        assert (result.exit_code, "unreadable" in result.output) == (0, False), arguments


@pytest.mark.apiserver  # git is run
def test_each_root_is_compared_with_its_own_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Repository.make(tmp_path / "clone")
    monkeypatch.chdir(made.folder)
    (made.folder / ".quotreeignore").write_text("old/\n")
    made.put("old/a.yaml", *organisation("old"))
    made.put("prod/a.yaml", *organisation("org"), BAD, WORSE)
    made.put("dev/a.yaml", *organisation("lab"), BAD, GOOD)
    made.commit()

    same = run("validate", ".", "--base", "main", "-o", "json")
    assert (same.exit_code, report(same)["context"]["roots"]) == (0, ["dev", "prod"])
    assert report(same)["context"]["base"]["changed"] == report(same)["context"]["base"]["deleted"] == 0

    made.put("dev/a.yaml", *organisation("lab"), BAD, WORSE)
    worse = report(run("validate", ".", "--base", "main", "-o", "json"))
    errors = [each["file"] for each in worse["findings"] if each["severity"] == "error"]
    assert errors == ["dev/a.yaml"]


def test_baseline_contains_the_findings_of_all_roots(here: Path) -> None:
    write(here / "prod" / "a.yaml", *organisation("org"), BAD, WORSE)
    write(here / "dev" / "a.yaml", *organisation("lab"), local_queue("lost", "nowhere"))

    assert run("baseline", "create", ".").exit_code == 0
    assert run("validate", ".", "--baseline", ".quotree-baseline.jsonl").exit_code == 0
    write(here / "prod" / "a.yaml", *organisation("org"), BAD, GOOD)
    assert "stale-baseline-entry" in run("validate", ".", "--baseline", ".quotree-baseline.jsonl").stdout


def test_prune_deletes_objects_missing_from_all_roots(here: Path) -> None:
    held = here.parent / "held.json"
    held.write_text(json.dumps({"kind": "List", "items": [*organisation("org"), cohort("lab"), cohort("gone")]}))
    write(here / "prod" / "a.yaml", *organisation("org"))
    write(here / "dev" / "a.yaml", *organisation("lab"))

    result = run("validate", ".", "--against", f"files:{held}", "--prune")

    assert result.exit_code == 0
