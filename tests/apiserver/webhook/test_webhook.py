"""End to end: kubectl, a real API server, our CRDs, our manifests, our process; the trees of examples/."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.apiserver import build
from tests.apiserver.harness import ControlPlane
from tests.apiserver.organisation import (
    ACCEPTED,
    CONFIGURATION,
    EXAMPLES,
    NO_FINALIZERS,
    Example,
    accept,
    examples,
    key,
    put_back,
    without_breaks,
)
from tests.apiserver.webhook.guard import QUOTREE, ROOT, Guard, as_input, documents
from tests.builders import cohort, queue
from tests.waiting import eventually

Manifest = dict[str, Any]
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
COLLECTIONS = (
    *(f"/apis/scheduling.volcano.sh/v1beta1/{each}" for each in ("queues", "podgroups")),
    *("/apis/batch.volcano.sh/v1alpha1/jobs", "/apis/batch/v1/jobs", "/apis/apps/v1/statefulsets"),
    *(f"/api/v1/{each}" for each in ("pods", "namespaces", "configmaps")),
    *(f"{KUEUE}/{each}" for each in ("cohorts", "clusterqueues", "localqueues", "resourceflavors", "workloads")),
    *(f"{KUEUE}/{each}" for each in ("admissionchecks", "workloadpriorityclasses", "topologies")),
    *(f"{KUEUE}/{each}" for each in ("multikueueconfigs", "multikueueclusters", "provisioningrequestconfigs")),
)


@pytest.fixture(scope="module")
def guard(programs: build.Programs) -> Iterator[Guard]:
    """A guarded control plane that holds the accepted organisation; tests leave it as it is."""
    with ControlPlane() as control_plane, Guard(control_plane, CONFIGURATION) as running:
        accept(control_plane)
        yield running


def stored(guard: Guard, kind: str, name: str, namespace: str = "") -> Manifest:
    within = ["-n", namespace] if namespace else []
    text = guard.control_plane.kubectl("get", kind, name, *within, "-o", "yaml").stdout
    return dict(yaml.safe_load(text))


def everything(guard: Guard) -> dict[tuple[str, str, str], str]:
    """The resource version of each object that an example could touch."""
    found = {}
    for collection in COLLECTIONS:
        listed = guard.control_plane.request("GET", collection)
        kind = listed["kind"].removesuffix("List")
        for meta in (each["metadata"] for each in listed["items"]):
            if kind != "ConfigMap" or meta["name"].startswith("yunikorn"):
                found[kind, meta.get("namespace", ""), meta["name"]] = meta["resourceVersion"]
    return found


def refusal(guard: Guard, *command: str, input: str | None = None) -> str:
    """What kubectl says when the command is refused, empty when it passes."""
    done = guard.control_plane.kubectl(*command, input=input, check=False)
    return done.stderr if done.returncode else ""


# -- what passes --


def test_the_accepted_organisation_is_stored_with_the_defaults_of_the_webhook(guard: Guard) -> None:
    archive = stored(guard, "queue", "archive")["spec"]
    group = stored(guard, "podgroup", "ad-hoc", "acme-speech")["spec"]
    job = stored(guard, "jobs.batch.volcano.sh", "resnet", "acme-vision")["spec"]

    assert archive["parent"] == "root"
    assert archive["reclaimable"] is True
    assert archive["weight"] == 1
    assert group["queue"] == "speech"
    assert (job["maxRetry"], job["tasks"][0]["minAvailable"], job["tasks"][0]["maxRetry"]) == (3, 4, 3)
    assert {key(obj) for obj in ACCEPTED} <= set(everything(guard))


def test_kubectl_shows_the_warnings_of_the_webhook(guard: Guard) -> None:
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "old-ways", "annotations": {"yunikorn.apache.org/namespace.max.cpu": "4"}},
    }

    done = guard.control_plane.kubectl("apply", "--dry-run=server", "-f", "-", input=yaml.safe_dump(namespace))

    assert "namespace.max.cpu=4 is deprecated" in done.stderr
    assert "[legacy-quota-annotation]" in done.stderr


def test_a_cron_job_whose_jobs_name_a_missing_local_queue_is_warned_about(guard: Guard) -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox"}]}}
    job = {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "nowhere"}}, "spec": {"template": template}}
    spec = {"schedule": "@daily", "jobTemplate": job}
    cron = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly"}, "spec": spec}

    done = guard.control_plane.kubectl("apply", "--dry-run=server", "-f", "-", input=yaml.safe_dump(cron))

    assert "LocalQueue nowhere does not exist in namespace default, so its Jobs wait until it does" in done.stderr
    assert "[local-queue-missing]" in done.stderr


# -- what is refused --


OF_COMPONENTS = ("yunikorn-pod-removes-its-gate",)
"""Examples whose webhook is in a component and not in the base; tests/apiserver/yunikorn tests the component."""
REFUSED = [example for example in examples("refused") if example.name not in OF_COMPONENTS]


@pytest.mark.parametrize("example", REFUSED, ids=lambda example: example.name)
def test_each_refused_example_is_refused_and_changes_nothing(guard: Guard, example: Example) -> None:
    before = everything(guard)

    dry = eventually(
        lambda: refusal(guard, *example.command, "--dry-run=server"),
        lambda: f"{example.name} passes a dry run",
    )
    real = refusal(guard, *example.command)

    for said in (dry, real):
        for rule in example.rules:
            assert (f"[{rule}]" in said) == (example.layer == "webhook"), said
        for piece in example.says:
            assert piece in said, said
    assert everything(guard) == before


def test_the_refused_examples_cover_every_verb_in_every_dialect() -> None:
    accepted = {key(obj) for obj in ACCEPTED}
    seen = set()
    for example in examples("refused"):
        dialect = example.name.partition("-")[0]
        if example.verb == "delete":
            seen.add((dialect, "delete"))
            continue
        for obj in documents(example.file):
            seen.add((dialect, "update" if key(obj) in accepted else "create"))

    assert seen == {
        *(("volcano", verb) for verb in ("create", "update", "delete")),
        *(("kueue", verb) for verb in ("create", "update", "delete")),
        *(("yunikorn", verb) for verb in ("create", "update", "delete")),
    }


def test_a_delete_of_the_collection_is_denied_for_parent_queues(guard: Guard) -> None:
    path = "/apis/scheduling.volcano.sh/v1beta1/queues?dryRun=All"

    said = refusal(guard, "delete", "--raw", path)

    assert "delete-with-children" in said or "protected-queue" in said


def test_an_invalid_exemption_is_denied_even_if_nothing_else_changes(guard: Guard) -> None:
    said = refusal(guard, "annotate", "queue", "batch", "ignore.quotree.dev/depth-exceeded=because", "--dry-run=server")

    assert "[exemption-invalid]" in said


def test_a_cycle_made_without_the_webhook_can_be_edited_and_repaired(guard: Guard) -> None:
    """A cycle made while the webhook configuration is deleted can be fixed, edited and deleted once it is back."""
    kubectl = guard.control_plane.kubectl
    away = stored(guard, "validatingwebhookconfiguration", "quotree-validate")
    away["metadata"] = {"name": "quotree-validate"}
    cycle = [cohort("left", "right"), cohort("right", "left")]
    kubectl("delete", "validatingwebhookconfiguration", "quotree-validate")
    try:
        # The API server calls the webhook until it has observed that this configuration is deleted.
        eventually(lambda: not refusal(guard, "apply", "-f", "-", input=as_input(cycle)))
    finally:
        kubectl("create", "-f", "-", input=yaml.safe_dump(away))

    itself = yaml.safe_dump(cohort("itself", "itself"))
    eventually(
        lambda: "[parent-cycle]" in refusal(guard, "apply", "--dry-run=server", "-f", "-", input=itself),
        lambda: "the webhook does not answer again",
    )
    edited = {**cohort("left", "right"), "spec": {"parentName": "right", "fairSharing": {"weight": "2"}}}
    said = kubectl("apply", "-f", "-", input=yaml.safe_dump(edited)).stderr
    assert "(as before this change)" in said
    assert "[parent-cycle]" in said
    kubectl("apply", "-f", "-", input=yaml.safe_dump(cohort("left")))
    eventually(
        lambda: not refusal(guard, "delete", "cohort", "right", "--dry-run=server"), lambda: "right cannot be deleted"
    )
    kubectl("delete", "cohort", "right", "left")


# -- what is warned of --


WARNED = [example for example in examples("warned") if example.layer == "webhook"]


@pytest.mark.parametrize("example", WARNED, ids=lambda example: example.name)
def test_each_warned_example_is_stored_and_kubectl_shows_the_fix(guard: Guard, example: Example) -> None:
    kubectl = guard.control_plane.kubectl

    def warned() -> bool:
        said = kubectl(*example.command, "--dry-run=server").stderr
        return all(f"[{rule}]" in said for rule in example.rules)

    eventually(warned, lambda: f"{example.name} is not warned of")
    done = kubectl(*example.command)
    try:
        for rule in example.rules:
            assert f"[{rule}]" in done.stderr
        for piece in example.says:
            assert piece in without_breaks(done.stderr)
        assert any(line.endswith((" created", " configured")) for line in done.stdout.splitlines()), done.stdout
    finally:
        put_back(guard.control_plane, documents(example.file))


# -- what comes from other schedulers --


@pytest.mark.parametrize("origin", ["volcano", "yunikorn"])
def test_queues_migrated_from_the_live_cluster_are_accepted_unchanged(guard: Guard, origin: str) -> None:
    asked = ("migrate", f"--from={origin}", "--total=cpu=1000", "--total=memory=4Ti")
    place = ("--against=cluster", f"--kubeconfig={guard.control_plane.kubeconfig}")
    done = subprocess.run([str(QUOTREE), *asked, *place], capture_output=True, text=True, check=True)
    made = [each for each in yaml.safe_load_all(done.stdout) if each]

    try:
        said = guard.control_plane.kubectl("apply", "-f", "-", input=done.stdout).stdout
        assert said.count(" created") == len(made), said
        assert {"ResourceFlavor", "Cohort", "ClusterQueue", "LocalQueue"} == {each["kind"] for each in made}
    finally:
        remove(guard.control_plane, made)


def remove(control_plane: ControlPlane, made: list[Manifest]) -> None:
    """Delete children before their parents; the webhook may still have deleted ones in its cache."""
    kubectl, last_first = control_plane.kubectl, as_input(made[::-1])
    held = [each for each in made if each["kind"] in ("ClusterQueue", "ResourceFlavor")]
    kubectl("patch", "--type=merge", "-p", NO_FINALIZERS, "-f", "-", input=as_input(held), check=False)
    command = ("delete", "--ignore-not-found", "--wait=false", "-f", "-")
    eventually(
        lambda: not kubectl(*command, input=last_first, check=False).returncode,
        lambda: "what was migrated cannot be removed",
    )


# -- what never reaches the webhook --


def plain(kind: str, name: str, **more: Any) -> Manifest:
    api = {"ReplicaSet": "apps/v1"}.get(kind, "v1")
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, **more.pop("metadata", {})}, **more}


POD_SPEC = {"containers": [{"name": "main", "image": "busybox"}], "restartPolicy": "Never"}
TEMPLATE = {"metadata": {"labels": {"app": "plain"}}, "spec": {**POD_SPEC, "restartPolicy": "Always"}}
UNRELATED = [
    plain("ConfigMap", "plain", data={"a": "b"}),
    plain("Secret", "plain", stringData={"a": "b"}),
    plain("Pod", "plain", spec=POD_SPEC),
    plain(
        "ReplicaSet",
        "plain",
        spec={"replicas": 1, "selector": {"matchLabels": {"app": "plain"}}, "template": TEMPLATE},
    ),
    plain("Namespace", "plain"),
    plain("Namespace", "annotated", metadata={"annotations": {"somebody.example/note": "hello"}}),
]


def test_objects_of_other_kinds_never_reach_the_webhook(guard: Guard) -> None:
    kubectl = guard.control_plane.kubectl
    before = guard.asked()

    kubectl("apply", "-f", "-", input=as_input(UNRELATED))
    kubectl("label", "namespace", "plain", "team=a")
    kubectl("annotate", "pod", "plain", "somebody.example/note=hello")
    kubectl("delete", "--wait=false", "-f", "-", input=as_input(UNRELATED))

    assert guard.asked() == before


def test_updates_of_fields_that_no_rule_reads_never_reach_the_webhook(guard: Guard) -> None:
    kubectl = guard.control_plane.kubectl
    before = guard.asked()

    kubectl("label", "queue", "training", "team=a")
    kubectl("label", "cohort", "research", "team=a")
    kubectl("label", "namespace", "acme-vision", "team=a")
    kubectl("patch", "queue", "serving", "--subresource=status", "--type=merge", "-p", '{"status": {"pending": 1}}')
    kubectl(
        *("patch", "podgroup", "nightly-report", "-n", "acme-batch", "--type=merge"),
        *("-p", '{"status": {"phase": "Inqueue"}}'),
    )

    assert guard.asked() == before


# -- when the webhook is down --


def test_a_stopped_webhook_blocks_changes_of_queues_but_not_workloads(guard: Guard) -> None:
    control_plane = guard.control_plane
    tree_edits = [
        *(["apply", "-f", "-", "--dry-run=server"], queue("new")),
        *(["patch", "queue", "batch", "--type=merge", "-p", '{"spec": {"weight": 3}}', "--dry-run=server"], None),
        *(["delete", "queue", "batch", "--dry-run=server"], None),
        *(["apply", "-f", "-", "--dry-run=server"], cohort("new")),
        *(["delete", "clusterqueue", "standalone", "--dry-run=server"], None),
        *(["annotate", "namespace", "acme-vision", "yunikorn.apache.org/namespace.maxApps=5", "--overwrite"], None),
    ]
    late = {"annotations": {"scheduling.volcano.sh/queue-name": "batch"}}
    work = [
        {
            **plain("PodGroup", "late", metadata={"namespace": "acme-batch"}),
            "apiVersion": "scheduling.volcano.sh/v1beta1",
        },
        plain("Pod", "late", metadata=late, spec={**POD_SPEC, "schedulerName": "volcano"}),
    ]
    guard.stop()
    try:
        for command, obj in zip(tree_edits[::2], tree_edits[1::2], strict=True):
            said = refusal(guard, *command, input=yaml.safe_dump(obj) if obj else None)  # type: ignore[arg-type, misc]
            assert "failed calling webhook" in said, (command, said)
        control_plane.kubectl("apply", "-f", "-", input=as_input([*work, *UNRELATED]))
        control_plane.kubectl("label", "queue", "batch", "still=editable")
        control_plane.kubectl("delete", "--wait=false", "-f", "-", input=as_input([*work, *UNRELATED]))
    finally:
        guard.start()


# -- the pieces around it --


def test_the_ca_bundle_of_the_webhook_configuration_survives_a_reinstallation(guard: Guard) -> None:
    kubectl = guard.control_plane.kubectl

    def trusted() -> list[str]:
        found = yaml.safe_load(
            kubectl("get", "validatingwebhookconfiguration", "quotree-validate", "-o", "yaml").stdout
        )
        return [webhook["clientConfig"].get("caBundle", "") for webhook in found["webhooks"]]

    before = trusted()
    assert all(before)
    guard.install()
    assert trusted() == before


def test_the_api_server_accepts_the_whole_base(guard: Guard) -> None:
    said = guard.control_plane.kubectl("apply", "--dry-run=server", "-k", str(ROOT / "manifests" / "base")).stdout

    for kind in ("deployment.apps/quotree-webhook", "poddisruptionbudget.policy/quotree-webhook", "service/"):
        assert kind in said


def test_quotree_validate_reports_the_same_against_the_live_cluster(guard: Guard) -> None:
    for name, rule in (("volcano-cycle", "parent-cycle"), ("kueue-cohort-cycle", "parent-cycle")):
        done = subprocess.run(
            [
                *(str(QUOTREE), "validate", str(EXAMPLES / "refused" / name / "change.yaml")),
                *("--against=cluster", f"--kubeconfig={guard.control_plane.kubeconfig}"),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1, done.stderr
        assert f"error[{rule}]" in done.stdout


def test_the_presync_job_validates_queues_under_its_service_account(guard: Guard, tmp_path: Path) -> None:
    """The objects of integrations/argo-cd on the real API server, and the Job's command as its ServiceAccount."""
    kubectl = guard.control_plane.kubectl
    rendered = yaml.safe_load_all(kubectl("kustomize", str(ROOT / "integrations" / "argo-cd")).stdout)
    installed = [each for each in rendered if each["metadata"]["name"].startswith("quotree-")]
    ours, objects = {each["kind"]: each for each in installed}, yaml.safe_dump_all(installed)
    kubectl("apply", "-f", "-", input=objects)
    try:
        login = guard.control_plane.service_account_kubeconfig("quotree-system", "quotree-judge")
        (container,) = ours["Job"]["spec"]["template"]["spec"]["containers"]
        *arguments, folder = container["args"]
        assert folder == container["volumeMounts"][0]["mountPath"]

        def judged(text: str) -> subprocess.CompletedProcess[str]:
            (tmp_path / "queues.yaml").write_text(text)
            command = [QUOTREE, *arguments, f"--kubeconfig={login}", str(tmp_path)]
            return subprocess.run(command, capture_output=True, text=True, check=False)

        fine = judged(ours["ConfigMap"]["data"]["queues.yaml"])
        broken = judged((EXAMPLES / "refused" / "kueue-cohort-cycle" / "change.yaml").read_text())
        assert (fine.returncode, broken.returncode) == (0, 1), fine.stdout + fine.stderr + broken.stderr
    finally:
        kubectl("delete", "-f", "-", input=objects)
