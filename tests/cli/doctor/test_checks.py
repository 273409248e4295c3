"""The result of each check for given facts, without a cluster."""

from __future__ import annotations

import base64
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from certs.pki import new_authority, new_server
from cli.doctor.checks.answering import answer_result, webhook_answers
from cli.doctor.checks.certificates import check_caller, check_configuration, check_expiry
from cli.doctor.checks.definitions import check_definitions
from cli.doctor.checks.health import check_metrics
from cli.doctor.checks.leases import check_lease, check_manager
from cli.doctor.checks.ledger import check_ledger
from cli.doctor.checks.replicas import check_replicas, check_versions, images
from cli.doctor.checks.rights import check_rights, roles
from cli.doctor.checks.server import check_clock, check_version
from cli.doctor.checks.volcano import check_controller
from cli.doctor.checks.workers import check_workers
from cli.doctor.served import from_secret
from cli.doctor.target import CheckedCluster, CheckResult, HealthState
from cluster.client import ClusterClient
from cluster.endpoint import Endpoint
from cluster.errors import ApiError, Forbidden
from cluster.resource import Resource
from cluster.reviews import Access
from policies.takeover.objects import ObjectRef
from tests.builders import manifest
from tests.cluster.fake import FakeApi, Reply, Seen, status

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
WEBHOOK = ObjectRef("Deployment", "quotree-webhook", "quotree-system")
QUEUES = Resource("scheduling.volcano.sh", "v1beta1", "queues", namespaced=False)


def states(*results: CheckResult) -> list[str]:
    for each in results:
        assert each.fix or each.state in (HealthState.OK, HealthState.SKIPPED), each
    return [each.state.value for each in results]


# -- the API server --


@pytest.mark.parametrize(
    ("minor", "state"), [("29", "failure"), ("29+", "failure"), ("30", "ok"), ("31+", "ok"), ("", "ok")]
)
def test_only_a_version_that_is_too_old_fails(minor: str, state: str) -> None:
    assert states(check_version("https://lab", f"v1.{minor}.0", minor)) == [state]


@pytest.mark.parametrize(
    ("seconds", "state"), [(0, "ok"), (-1, "ok"), (30, "ok"), (-31, "ok"), (32, "warning"), (-33, "warning")]
)
def test_clock_skew_above_half_a_minute_is_a_warning(seconds: int, state: str) -> None:
    after = NOW + timedelta(seconds=1)
    assert states(check_clock(NOW + timedelta(seconds=seconds), NOW, after, "me")) == [state]


# -- Volcano's own controller --


def volcano(replicas: int = 1, *arguments: str) -> dict[str, Any]:
    container = {"name": "c", "image": "volcanosh/vc-controller-manager:v1.12.0", "args": list(arguments)}
    spec = {"replicas": replicas, "template": {"spec": {"containers": [container]}}}
    return manifest("apps/v1", "Deployment", "volcano-controllers", spec, namespace="volcano-system")


@pytest.mark.parametrize(
    ("deployment", "state"),
    [
        (volcano(), "failure"),
        (volcano(1, "--leader-elect=false"), "failure"),
        (volcano(0), "ok"),
        (volcano(1, "--controllers=*,-queue-controller"), "ok"),
        (volcano(1, "--controllers", "job-controller,pg-controller"), "ok"),
        (volcano(1, "--controllers=*,-sharding-controller"), "failure"),
    ],
)
def test_volcanos_queue_controller_must_not_run_beside_the_reconciler(deployment: dict[str, Any], state: str) -> None:
    assert states(check_controller([deployment], [], [], NOW, replaced=False)) == [state]


@pytest.mark.parametrize(("ours", "state"), [("11:00:00", "failure"), ("12:00:00", "failure"), ("12:00:01", "ok")])
def test_queue_written_last_by_the_volcano_controller_fails(ours: str, state: str) -> None:
    theirs = {"manager": "queue-controller", "operation": "Apply", "fieldsV1": {"f:status": {"f:state": {}}}}
    own = {"manager": "quotree-volcano-queues", "operation": "Update", "fieldsV1": {}}
    queue = manifest("scheduling.volcano.sh/v1beta1", "Queue", "b", {})
    queue["metadata"]["managedFields"] = [
        {**theirs, "time": "2026-01-01T12:00:00Z"},
        {**own, "time": f"2026-01-01T{ours}Z"},
    ]
    assert states(check_controller([], [], [queue], NOW, replaced=False)) == [state]
    assert states(check_controller([], [], [queue], NOW, replaced=True)) == ["ok"]


def test_a_controller_that_is_replaced_and_still_runs_writes_beside_the_reconciler() -> None:
    result = check_controller([volcano()], [], [], NOW, replaced=True)
    assert states(result) == ["failure"]
    assert "both may write Volcano's queues" in result.message


# -- what is installed --


def definition(*served: str, established: str = "True", **conditions: str) -> dict[str, Any]:
    spec = {"versions": [{"name": each, "served": True} for each in served] + [{"name": "v9", "served": False}]}
    found = [{"type": kind, "status": status} for kind, status in {"Established": established, **conditions}.items()]
    version = "apiextensions.k8s.io/v1"
    return manifest(version, "CustomResourceDefinition", "any", spec, status={"conditions": found})


def crds(found: dict[str, Any]) -> list[str]:
    wanted = {"queues.scheduling.volcano.sh": [QUEUES], "podgroups.scheduling.volcano.sh": [QUEUES]}
    return states(*check_definitions(wanted, found))


def test_crd_check_requires_the_volcano_definitions_established_and_served() -> None:
    whole = {
        name: definition("v1beta1") for name in ("queues.scheduling.volcano.sh", "podgroups.scheduling.volcano.sh")
    }

    assert crds({}) == ["skipped"]
    assert crds({"others.example.dev": definition("v1")}) == ["skipped"]
    assert crds(whole) == ["ok"]
    assert crds({"queues.scheduling.volcano.sh": definition("v1beta1")}) == ["failure"]
    assert crds({**whole, "queues.scheduling.volcano.sh": definition("v9")}) == ["failure"]
    assert crds({**whole, "queues.scheduling.volcano.sh": definition("v1beta1", established="False")}) == ["failure"]
    assert crds({**whole, "queues.scheduling.volcano.sh": definition("v1beta1", Terminating="True")}) == ["failure"]
    assert crds({**whole, "queues.scheduling.volcano.sh": manifest("v1", "Any", "any")}) == ["failure", "failure"]


@pytest.mark.parametrize(
    ("spec", "status", "state"),
    [
        ({"replicas": 3}, {"readyReplicas": 3}, "ok"),
        ({"replicas": 3}, {"readyReplicas": 2}, "warning"),
        ({"replicas": 3}, {}, "failure"),
        ({"replicas": 0}, {}, "failure"),
        ({}, {"readyReplicas": 1}, "ok"),
    ],
)
def test_replica_check_compares_ready_and_desired(spec: dict[str, int], status: dict[str, int], state: str) -> None:
    deployment = manifest("apps/v1", "Deployment", "quotree-webhook", spec, status=status)
    assert states(check_replicas(WEBHOOK, deployment), check_replicas(WEBHOOK, None)) == [state, "skipped"]


def test_version_check_warns_about_different_images() -> None:
    other = ObjectRef("Deployment", "quotree-reconciler", "quotree-system")
    pod = {"containers": [{"image": "lab:5000/quotree:1.0"}, {"image": "istio/proxyv2:1.2"}]}
    found = images(manifest("apps/v1", "Deployment", "any", {"template": {"spec": pod}}))

    assert found == ["lab:5000/quotree:1.0"]
    assert states(check_versions({WEBHOOK: found}), check_versions({WEBHOOK: found, other: found})) == ["ok", "ok"]
    assert states(check_versions({WEBHOOK: found, other: ["lab:5000/quotree:0.9"]})) == ["warning"]
    assert states(check_versions({}), check_versions({WEBHOOK: []})) == ["skipped", "skipped"]


def test_webhook_configuration_without_a_webhook_fails() -> None:
    found = manifest("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "quotree-validate")

    assert states(check_configuration("any", None, False), check_configuration("any", found, True)) == [
        "skipped",
        "ok",
    ]
    assert states(check_configuration("any", None, True), check_configuration("any", found, False)) == ["failure"] * 2


# -- certificates --


def test_caller_check_requires_a_trusted_certificate_for_the_service_name() -> None:
    authority, stranger = (new_authority(name, NOW, timedelta(days=9)) for name in ("ours", "stranger"))
    served = from_secret("Secret any", [new_server(authority, ["web.lab.svc"], NOW, timedelta(days=9)).certificate])

    def caller(ca: bytes | str, service: str = "web") -> str:
        text = ca if isinstance(ca, str) else base64.b64encode(ca).decode()
        client = {"service": {"name": service, "namespace": "lab"}, "caBundle": text}
        return states(check_caller("any", {"webhooks": [{"clientConfig": client}]}, served))[0]

    assert caller(authority.certificate) == "ok"
    assert caller(stranger.certificate + authority.certificate) == "ok"
    assert caller(stranger.certificate) == "failure"
    assert caller(authority.certificate, service="other") == "failure"
    assert [caller(text) for text in ("", "???", "bm90IFBFTQ==")] == ["failure"] * 3


@pytest.mark.parametrize(
    ("hours", "state"), [(-2, "failure"), (0, "ok"), (73, "ok"), (75, "warning"), (99, "warning"), (100, "failure")]
)
def test_expiry_check_warns_before_a_certificate_expires(hours: int, state: str) -> None:
    """The certificate is valid from an hour before NOW until a hundred hours after it."""
    pem = new_authority("any", NOW, timedelta(hours=100)).certificate
    assert states(check_expiry("any", [pem], NOW + timedelta(hours=hours))) == [state]


def test_expiry_check_uses_the_newest_of_overlapping_authorities() -> None:
    old, new = (new_authority("any", NOW, timedelta(hours=hours)).certificate for hours in (1, 100))
    assert states(check_expiry("any", [old, new], NOW + timedelta(hours=2))) == ["ok"]


# -- what answers --


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (None, "warning"),
        (Forbidden(403, "Forbidden", 'admission webhook "a.quotree.dev" denied the request: no'), "ok"),
        (Forbidden(403, "Forbidden", 'cohorts is forbidden: User "me" cannot create'), "skipped"),
        (ApiError(500, "InternalError", 'failed calling webhook "a.quotree.dev": x509: unknown authority'), "failure"),
        (ApiError(500, "InternalError", 'failed calling webhook "a.quotree.dev": new words'), "failure"),
        (ApiError(500, "InternalError", 'failed calling webhook "a.example.dev": x509'), "warning"),
    ],
)
def test_webhook_check_judges_the_response_to_the_trial_request(error: ApiError | None, state: str) -> None:
    assert states(answer_result(error, "Cohort")) == [state]


@pytest.mark.parametrize(
    ("group", "version", "plural"),
    [
        ("kueue.x-k8s.io", "v1beta2", "cohorts"),
        ("kueue.x-k8s.io", "v1beta1", "cohorts"),
        ("scheduling.volcano.sh", "v1beta1", "queues"),
    ],
)
def test_trial_request_uses_a_served_api_version(group: str, version: str, plural: str) -> None:
    found = {
        ("GET", "/apis"): {"groups": [{"name": group}]},
        ("GET", f"/apis/{group}/{version}"): {"resources": [{"name": plural}]},
    }
    trial = ("POST", f"/apis/{group}/{version}/{plural}")
    denied = 'admission webhook "a.quotree.dev" denied the request: no'

    class Refusing(FakeApi):
        def reply_to(self, seen: Seen) -> Reply:
            asked = (seen.method, seen.path)
            if asked in found:
                return lambda handler: handler.send_json(200, found[asked])
            return status(403, "Forbidden", message=denied) if asked == trial else status(404, "NotFound")

    with closing(Refusing()) as api:
        checked = CheckedCluster(ClusterClient(Endpoint(api.url)))
        checked.has_webhook = True

        assert states(*webhook_answers.run(checked)) == ["ok"]


def test_the_result_of_a_trial_names_the_kind_that_was_sent() -> None:
    refused = Forbidden(403, "Forbidden", 'admission webhook "a.quotree.dev" denied the request: no')

    assert answer_result(refused, "Queue").message == "refused a Queue that is its own parent, as it should"
    assert answer_result(None, "Queue").message.startswith("a Queue that is its own parent passed")


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("quotree_cache_synced 1.0\nquotree_cache_age_seconds 3.5\n", "ok"),
        ("quotree_cache_synced 1.0\nquotree_cache_age_seconds 181.0\n", "warning"),
        ("quotree_cache_synced 1.0\nquotree_cache_age_seconds NaN\n", "failure"),
        ("quotree_cache_synced 0.0\nquotree_cache_age_seconds 3.5\n", "failure"),
        ("quotree_cache_synced what\n", "skipped"),
        ("<html>a proxy's page</html>", "skipped"),
    ],
)
def test_metrics_check_judges_cache_sync_and_age(text: str, state: str) -> None:
    assert states(check_metrics("any", text)) == [state]


# -- the ledger --


def test_ledger_check_requires_a_readable_writable_config_map() -> None:
    empty = manifest("v1", "ConfigMap", "quotree-ledger", resourceVersion="1")
    refused = ApiError(422, "Invalid", "data: Forbidden: field is immutable when `immutable` is set")
    mine = Forbidden(403, "Forbidden", 'configmaps "quotree-ledger" is forbidden: User "me" cannot patch')

    assert states(*check_ledger("any", empty, None)) == ["ok"]
    assert states(*check_ledger("any", None, None)) == ["failure"]
    assert states(*check_ledger("any", {**empty, "data": {"uid-1": "no entry"}}, None)) == ["failure"]
    assert states(*check_ledger("any", empty, refused)) == ["failure"]
    assert states(*check_ledger("any", empty, mine)) == ["skipped"]


# -- who leads --


def lease(holder: str = "pod-1", age: float | None = 0, **spec: object) -> dict[str, Any]:
    renewed = {} if age is None else {"renewTime": (NOW - timedelta(seconds=age)).isoformat()}
    return manifest("coordination.k8s.io/v1", "Lease", "any", {"holderIdentity": holder, **renewed, **spec})


@pytest.mark.parametrize(
    ("found", "state"),
    [
        (None, "failure"),
        (lease(), "ok"),
        (lease(age=-3), "ok"),
        (lease(age=20), "ok"),
        (lease(age=21), "failure"),
        (lease(age=21, leaseDurationSeconds=60), "ok"),
        (lease(holder=""), "failure"),
        (lease(age=None), "failure"),
    ],
)
def test_lease_check_requires_a_current_reconciler_lease(found: dict[str, Any] | None, state: str) -> None:
    assert states(check_lease("any", found, NOW)) == [state]


def test_kueues_manager_may_run_or_the_reconciler_but_not_both() -> None:
    assert states(check_manager([lease()], True, NOW), check_manager([lease()], False, NOW)) == ["failure", "ok"]
    assert states(check_manager([lease(age=99)], True, NOW), check_manager([], False, NOW)) == ["ok", "skipped"]


# -- rights and workers --


def test_missing_rights_are_listed_with_the_manifest_that_grants_them() -> None:
    missing = [Access("patch", "", "configmaps", namespace="lab", name=f"ledger-{number}") for number in range(6)]

    result = check_rights("any", "me", missing, missing, "manifests/base/rbac.yaml")

    assert result.message.startswith("me may not patch configmaps ledger-0 in lab; ")
    assert result.message.endswith("; and 2 more")
    assert result.fix == "kubectl apply -f manifests/base/rbac.yaml"
    assert states(check_rights("any", "me", missing, [], "any")) == ["ok"]


def test_shipped_roles_are_checked_for_each_process() -> None:
    accesses = {access for role in roles() for access in role.accesses}

    assert Access("list", "kueue.x-k8s.io", "clusterqueues") in accesses
    assert Access("patch", "", "configmaps", namespace="quotree-system", name="quotree-ledger") in accesses
    assert Access("patch", "kueue.x-k8s.io", "workloads", "status") in accesses
    assert {role.process for role in roles()} == {"webhook", "reconciler", "part", "audit", "dashboard"}


def test_worker_check_judges_the_connection_of_each_worker() -> None:
    one = {"name": "east", "since": "2026-01-01T00:00:00Z", "placed": 2, "reason": "Bad", "error": "no route"}
    found = [{**one, "connection": state} for state in ("connected", "not connected", "not known yet")]

    assert states(*check_workers(found)) == ["ok", "failure", "warning"]
    assert states(*check_workers([])) == ["skipped"]
