"""`quotree snapshot`: what it keeps and leaves out, and that commands read the file like the cluster."""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.report.redaction import Redaction
from policies.amounts.devices import read_claim_template, read_device_class
from tests.builders import (
    cluster_queue,
    config_map,
    flavor,
    group,
    job,
    local_queue,
    namespace,
    pod_group,
    queue,
    quota,
    workload,
)
from tests.cli.clusters import holding
from tests.cli.runs import kubeconfig, report, run, write
from tests.cluster.fake import FakeApi
from tests.schemas import OF_KIND, checked

QUEUES = """
# s3cr3t
partitions:
- name: default
  queues:
  - name: root
    submitacl: anna@example.com,bob@example.com
    queues:
    - {name: web, resources: {max: {vcore: 5}}, limits: [{limit: x, users: [carol@example.com], maxapplications: 2}]}
    properties: {token: s3cr3t}
"""
YUNIKORN = {
    "queues.yaml": QUEUES,
    "service.secret": "s3cr3t",
    "service.schedulingInterval": "1s",
    "admissionController.accessControl.externalUsers": "^dora@example.com$",
    "admissionController.accessControl.bypassAuth": "true",
}
ZIPPED = {"other.yaml.gz": b64encode(gzip.compress(b"token: s3cr3t")).decode()}
CONFIGS = config_map("yunikorn-configs", "yunikorn", data=YUNIKORN, binaryData=ZIPPED)
DEVICE_CLASS = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpu.vendor.io"},
    "spec": {"extendedResourceName": "vendor.io/gpu", "config": [{"opaque": {"parameters": {"token": "s3cr3t"}}}]},
}
SELECTORS = [{"cel": {"expression": "device.attributes['s3cr3t'].x"}}]
CLAIMS = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaimTemplate",
    "metadata": {"name": "two", "namespace": "ns"},
    "spec": {
        "spec": {
            "devices": {
                "requests": [{"exactly": {"deviceClassName": "gpu.vendor.io", "count": 2, "selectors": SELECTORS}}],
                "config": [{"opaque": {"parameters": {"token": "s3cr3t"}}}],
            }
        }
    },
}
SECRETS = ("s3cr3t", "registry.example.com", "rm -rf", "team-a@example.com", "last-applied")


@pytest.fixture
def api() -> Iterator[FakeApi]:
    server = FakeApi()
    yield server
    server.close()


def running(name: str = "train-ab12c", cpu: str = "2") -> dict[str, Any]:
    """A Workload that uses quota, with secrets in its pod template."""
    made = workload(name, "door", cpu)
    made["metadata"] |= {
        "uid": "7",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "s3cr3t", "owner": "team-a@example.com"},
        "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "8", "controller": True}],
        "managedFields": [{"manager": "s3cr3t"}],
    }
    (pods,) = made["spec"]["podSets"]
    pods["template"]["spec"] |= {
        "volumes": [{"name": "v", "secret": {"secretName": "s3cr3t"}}],
        "serviceAccountName": "s3cr3t",
        "nodeSelector": {"pool": "spot"},
        "affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "s3cr3t"}]}},
    }
    for container in pods["template"]["spec"]["containers"]:
        container |= {
            "name": "s3cr3t",
            "image": "registry.example.com/a:1",
            "command": ["rm -rf"],
            "env": [{"name": "TOKEN", "value": "s3cr3t"}],
        }
    made["status"] = {
        "conditions": [{"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved", "message": "s3cr3t"}],
        "admission": {
            "clusterQueue": "ml",
            "podSetAssignments": [
                {"name": "main", "count": 1, "flavors": {"cpu": "spot"}, "resourceUsage": {"cpu": cpu}}
            ],
        },
    }
    return made


def cluster(api: FakeApi, *maps: dict[str, Any]) -> None:
    house = namespace("ns")
    house["metadata"]["labels"] = {"team": "ml", "owner": "team-a@example.com"}
    ml = cluster_queue("ml", None, group("cpu", flavor("spot", cpu=quota(4))))
    ml["spec"]["namespaceSelector"] = {"matchLabels": {"team": "ml"}}
    trainer = job("trainer", "vision")
    trainer["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": "train"}
    trainer["spec"]["tasks"] = [{"name": "s3", "replicas": 1, "template": {"spec": {"image": "s3cr3t"}}}]
    holding(
        api,
        clusterqueues=[ml],
        localqueues=[local_queue("door", "ml")],
        workloads=[running()],
        namespaces=[house],
        queues=[queue("eng", deserved="cpu:4"), queue("vision", "eng", deserved="cpu:3")],
        podgroups=[pod_group("train", "vision")],
        jobs=[trainer],
        deviceclasses=[DEVICE_CLASS],
        resourceclaimtemplates=[CLAIMS],
        configmaps=[config_map("other", "ns", data={"token": "s3cr3t"}), *maps],
    )


def taken(tmp_path: Path, api: FakeApi, *flags: str, maps: tuple[dict[str, Any], ...] = ()) -> Path:
    cluster(api, *maps)
    file = tmp_path / "prod.json"
    arguments = ["--against", "cluster:lab", "--kubeconfig", kubeconfig(tmp_path, api.url), "--file", file]
    result = run("snapshot", *arguments, *flags)
    assert result.exit_code == 0, result.output
    return file


def test_snapshot_conforms_to_its_schema_and_has_neither_secrets_nor_pod_specs(tmp_path: Path, api: FakeApi) -> None:
    text = taken(tmp_path, api).read_text()

    assert checked(json.loads(text))["kind"] in OF_KIND
    assert [each for each in SECRETS if each in text] == []
    assert [each for each in ("image", "command", '"env"', "volumes", 'message":"s') if each in text] == []


def test_snapshot_has_requests_usage_and_namespace_labels(tmp_path: Path, api: FakeApi) -> None:
    snapshot = json.loads(taken(tmp_path, api).read_text())
    objects = {(each["kind"], each["metadata"]["name"]): each for each in snapshot["objects"]}

    work = objects["Workload", "train-ab12c"]
    assert objects["Namespace", "ns"]["metadata"]["labels"] == {"team": "ml"}
    assert read_claim_template(objects["ResourceClaimTemplate", "two"]) == read_claim_template(CLAIMS)
    assert read_device_class(objects["DeviceClass", "gpu.vendor.io"]) == read_device_class(DEVICE_CLASS)
    assert work["spec"]["podSets"] == [
        {
            "name": "main",
            "count": 1,
            "template": {
                "spec": {
                    "nodeSelector": {"pool": "spot"},
                    "containers": [{"name": "0", "resources": {"requests": {"cpu": "2"}}}],
                }
            },
        }
    ]
    assert work["status"]["admission"]["podSetAssignments"][0]["resourceUsage"] == {"cpu": "2"}
    assert "Namespace" in snapshot["complete"]
    assert "Queue.scheduling.volcano.sh" in snapshot["complete"]


def test_hash_names_hashes_workload_names_differently_in_each_snapshot(tmp_path: Path, api: FakeApi) -> None:
    first = taken(tmp_path, api, "--hash-names").read_text()
    second = taken(tmp_path, api, "--hash-names").read_text()

    def work(text: str) -> list[str]:
        kinds = ("Workload", "Job", "PodGroup")
        return [each["metadata"]["name"] for each in json.loads(text)["objects"] if each["kind"] in kinds]

    assert "train" not in first
    assert len(work(first)) == 3
    assert not set(work(first)) & set(work(second))
    assert '"name":"ml"' in first


def test_names_in_labels_annotations_and_checks_of_work_are_hashed_too() -> None:
    kueues = ("job-owner-name", "workload-slice-name", "concurrent-admission-parent")
    keys = [*(f"kueue.x-k8s.io/{key}" for key in kueues), "volcano.sh/job-name", "yunikorn.apache.org/username"]
    update = {"name": "main", "nodeSelector": {"rack": "1"}, "annotations": {"request": "anna-1"}}
    worker = running("anna")
    worker["metadata"]["annotations"] = dict.fromkeys(keys, "anna")
    worker["status"]["admissionChecks"] = [{"name": "prov", "state": "Ready", "podSetUpdates": [update]}]

    redacted = Redaction(hash_names=True).redact(worker)

    assert redacted is not None
    assert "anna" not in str(redacted)
    assert redacted["metadata"]["annotations"] == dict.fromkeys(keys, redacted["metadata"]["name"])
    (check,) = redacted["status"]["admissionChecks"]
    assert check["podSetUpdates"] == [{"name": "main", "nodeSelector": {"rack": "1"}}]


def test_snapshot_has_only_yunikorn_settings_that_rules_read(tmp_path: Path, api: FakeApi) -> None:
    text = taken(tmp_path, api, "--hash-names", maps=(CONFIGS,)).read_text()

    (settings,) = [each["data"] for each in json.loads(text)["objects"] if each["kind"] == "ConfigMap"]
    assert [each for each in (*SECRETS, "example.com", "token") if each in text] == []
    assert settings.keys() == {*YUNIKORN.keys() - {"service.secret"}, "other.yaml"}
    assert (settings["service.schedulingInterval"], settings["admissionController.accessControl.bypassAuth"]) == (
        "1s",
        "true",
    )
    assert "{vcore: 5}" not in settings["queues.yaml"]
    assert "vcore: 5" in settings["queues.yaml"]


def test_users_and_groups_stay_unless_names_are_hashed(tmp_path: Path, api: FakeApi) -> None:
    text = taken(tmp_path, api, maps=(CONFIGS,)).read_text()

    assert "carol@example.com" in text
    assert [each for each in SECRETS if each in text] == []


def test_the_change_is_judged_as_against_the_cluster(tmp_path: Path, api: FakeApi) -> None:
    change = write(
        tmp_path / "change.yaml", queue("train", "vision"), queue("eng", deserved="cpu:2"), local_queue("door", "web")
    )
    file = taken(tmp_path, api)
    cluster(api)
    live = ["--against", "cluster:lab", "--kubeconfig", kubeconfig(tmp_path, api.url)]

    of_cluster = report(run("validate", change, *live, "-o", "json"))
    of_file = report(run("validate", change, "--against", f"snapshot:{file}", "-o", "json"))

    assert len(of_file["findings"]) > 2
    assert of_cluster["findings"] == of_file["findings"]
    assert of_cluster["notEvaluated"] == of_file["notEvaluated"] == []


def test_head_line_names_the_cluster_and_age_of_the_snapshot(tmp_path: Path, api: FakeApi) -> None:
    file = taken(tmp_path, api)
    value = json.loads(file.read_text())
    file.write_text(json.dumps({**value, "takenAt": "2026-01-01T14:02:00Z"}))
    change = write(tmp_path / "change.yaml", queue("web", "eng"))

    head = run("validate", change, "--against", f"snapshot:{file}").stdout.splitlines()[0]

    assert head.startswith(f"judged against snapshot {file} of cluster lab as of 2026-01-01T14:02:00Z, ")
    assert head.endswith(" days old, 3 queues there: 1 object, 1 queue")


def test_work_that_the_change_has_is_judged_as_new(tmp_path: Path, api: FakeApi) -> None:
    file = taken(tmp_path, api)
    trainer = job("trainer", "vision")
    trainer["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": "train"}
    trainer["spec"]["tasks"] = [{"name": "s3", "replicas": 1, "template": {"spec": {"containers": []}}}]

    result = run("validate", write(tmp_path / "a.yaml", trainer), "--against", f"snapshot:{file}")

    assert "immutable" not in result.stdout


def test_tree_and_pending_read_a_snapshot_with_usage(tmp_path: Path, api: FakeApi) -> None:
    file = taken(tmp_path, api)

    (ml,) = (
        node
        for node in json.loads(run("tree", "--against", f"snapshot:{file}", "-o", "json").stdout)["nodes"]
        if node["name"] == "ml"
    )

    assert run("pending", "--against", f"snapshot:{file}").exit_code == 0
    assert "Workload ns/train-ab12c" not in run("pending", "--against", f"snapshot:{file}").stdout
    assert json.dumps(ml).count('"used": "2"') == 1


def test_diff_and_order_of_a_snapshot_match_the_cluster(tmp_path: Path, api: FakeApi) -> None:
    file = taken(tmp_path, api)
    smaller = cluster_queue("ml", None, group("cpu", flavor("spot", cpu=quota(1))))
    change = write(tmp_path / "change.yaml", smaller, queue("eng", deserved="cpu:9"))
    live = ("--against", "cluster:lab", "--kubeconfig", kubeconfig(tmp_path, api.url))

    for command in ("diff", "order"):
        of_cluster, of_file = run(command, change, *live), run(command, change, "--against", f"snapshot:{file}")
        assert of_cluster.exit_code == of_file.exit_code == 0, of_file.output
        assert of_file.stdout.splitlines()[1:] == of_cluster.stdout.splitlines()[1:]
    assert "ClusterQueue ml loses" in run("diff", change, "--against", f"snapshot:{file}").stdout


@pytest.mark.parametrize(
    ("origin", "made"), [("volcano", "ns/vision"), ("yunikorn", "ns/default"), ("kueue", "ns/door")]
)
def test_migrate_of_a_snapshot_matches_the_cluster(tmp_path: Path, api: FakeApi, origin: str, made: str) -> None:
    file = taken(tmp_path, api)
    command = ("migrate", "--from", origin, "-o", "json", "--against")

    of_cluster = run(*command, "cluster:lab", "--kubeconfig", kubeconfig(tmp_path, api.url))
    of_file = run(*command, f"snapshot:{file}")

    assert (of_cluster.exit_code, of_file.exit_code) == (0, 0), of_cluster.output + of_file.output
    assert of_file.stdout == of_cluster.stdout
    queues = [each["metadata"] for each in json.loads(of_file.stdout)["objects"] if each["kind"] == "LocalQueue"]
    assert [f"{each['namespace']}/{each['name']}" for each in queues] == [made]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"apiVersion": "quotree.dev/v2"}, "its apiVersion is 'quotree.dev/v2', and this quotree reads"),
        ({"kind": "List"}, "it is not a Snapshot"),
        ({"more": 1}, "these keys are missing or unknown: more"),
        ({"takenAt": "yesterday"}, "takenAt, cluster or quotree cannot be read"),
        ({"takenAt": "2026-99-01T00:00:00Z"}, "takenAt, cluster or quotree cannot be read"),
        ({"namesHashed": 1}, "namesHashed is neither true nor false"),
        ({"complete": [1]}, "`complete` is not a list of kinds"),
        ({"objects": {}}, "`objects` is not a list"),
        ({"objects": [{"kind": "Queue", "metadata": {"name": ""}}]}, "objects[0] is not an object"),
        ({"objects": [None]}, "objects[0] is not an object"),
    ],
)
def test_invalid_snapshot_is_rejected_with_a_hint(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    whole = {
        "apiVersion": "quotree.dev/v1alpha1",
        "kind": "Snapshot",
        "takenAt": "2026-01-01T00:00:00Z",
        "cluster": "",
        "quotree": "0",
        "namesHashed": False,
        "complete": [],
        "objects": [],
    }
    file = tmp_path / "s.json"
    subject = write(tmp_path / "a.yaml", queue("eng"))
    file.write_text(json.dumps(whole))
    assert run("validate", subject, "--against", f"snapshot:{file}").exit_code == 0
    file.write_text(json.dumps({**whole, **change}))

    result = run("validate", subject, "--against", f"snapshot:{file}")

    assert result.exit_code == 4
    assert message in result.stdout
    assert "take it again with `quotree snapshot`" in result.stdout


@pytest.mark.parametrize("data", [b"", b"\xff", b"{", b"[" * 100_000, b'{"kind": "Snapshot", "kind": "Snapshot"}'])
def test_malformed_snapshot_bytes_are_rejected(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "s.json"
    file.write_bytes(data)

    result = run("validate", write(tmp_path / "a.yaml", queue("eng")), "--against", f"snapshot:{file}")

    assert result.exit_code == 4
    assert "internal error" not in result.output


def test_unreadable_objects_in_a_snapshot_are_ignored(tmp_path: Path) -> None:
    broken = [{"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "x"}, "spec": 5}]
    value = {
        "apiVersion": "quotree.dev/v1alpha1",
        "kind": "Snapshot",
        "takenAt": "2026-01-01T00:00:00Z",
        "cluster": "",
        "quotree": "0",
        "namesHashed": False,
        "complete": ["Queue.scheduling.volcano.sh"],
        "objects": broken,
    }
    file = tmp_path / "s.json"
    file.write_text(json.dumps(value))

    assert run("validate", write(tmp_path / "a.yaml", queue("x")), "--against", f"snapshot:{file}").exit_code == 0


def test_a_snapshot_is_taken_of_a_cluster_only(tmp_path: Path) -> None:
    assert run("snapshot", "--against", f"files:{tmp_path}").exit_code == 2
    assert run("snapshot", "--against", "cluster:none").exit_code == 4


RACKS = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "Topology",
    "metadata": {"name": "racks"},
    "spec": {"levels": [{"nodeLabel": "example.com/rak"}]},
}
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1", "labels": {"example.com/rack": "r1"}, "annotations": {"token": "s3cr3t"}},
    "spec": {"providerID": "s3cr3t", "taints": [{"key": "gpu", "effect": "NoSchedule"}]},
    "status": {
        "allocatable": {"cpu": "8"},
        "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
        "conditions": [
            {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z", "message": "s3cr3t"},
            {"type": "MemoryPressure", "status": "False"},
        ],
    },
}


def test_snapshot_of_a_node_has_labels_allocatable_taints_and_readiness(tmp_path: Path, api: FakeApi) -> None:
    holding(api, nodes=[NODE])
    file = tmp_path / "prod.json"
    result = run("snapshot", "--against", "cluster:lab", "--kubeconfig", kubeconfig(tmp_path, api.url), "--file", file)

    assert result.exit_code == 0, result.output
    assert "s3cr3t" not in file.read_text()
    assert json.loads(file.read_text())["objects"] == [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "n1", "labels": {"example.com/rack": "r1"}},
            "spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}]},
            "status": {
                "allocatable": {"cpu": "8"},
                "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
            },
        }
    ]
    change = write(tmp_path / "racks.yaml", RACKS)
    assert "did you mean example.com/rack?" in run("validate", change, "--against", f"snapshot:{file}").output


def test_a_cluster_is_judged_with_its_nodes_and_without_them_where_the_caller_may_not_list_them(
    tmp_path: Path, api: FakeApi
) -> None:
    change = write(tmp_path / "racks.yaml", RACKS)
    arguments = ("validate", change, "--against", "cluster:lab", "--kubeconfig", kubeconfig(tmp_path, api.url))
    holding(api, nodes=[NODE])
    seen = run(*arguments)
    api.others.clear()
    holding(api, forbidden=("nodes",))
    unseen = run(*arguments)

    assert (seen.exit_code, unseen.exit_code) == (0, 0), unseen.output
    assert "did you mean example.com/rack?" in seen.output
    assert "example.com/rack" not in unseen.output
