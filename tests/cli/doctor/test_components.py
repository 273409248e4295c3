"""What doctor reads of the processes beside the webhook, from the manifests that are shipped."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from certs.pki import new_authority, new_server
from cli.doctor.checks.certificates import secret_of
from cli.doctor.checks.dashboard import judged_impersonation, judged_trust, service_of
from cli.doctor.checks.health import judged_audit
from cli.doctor.checks.leases import lease_of_process
from cli.doctor.checks.reports import Keeper, judged_reports
from cli.doctor.checks.rights import account_of, of_part, roles
from cli.doctor.checks.services import judged_service
from cli.doctor.served import from_secret
from cli.doctor.target import option, part_of
from cluster.reviews import Access
from policies.audit.reports import OPEN_REPORTS
from policies.takeover.objects import Ref
from tests.builders import manifest

MANIFESTS = Path(__file__).parents[3] / "manifests"
SYSTEM = "quotree-system"
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def deployment(component: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((MANIFESTS / "components" / component / "deployment.yaml").read_text())
    return found


def started(*arguments: str, **pod: Any) -> dict[str, Any]:
    container = {"args": list(arguments), "volumeMounts": pod.pop("mounts", [])}
    return {"spec": {"template": {"spec": {"containers": [container], **pod}}}}


def test_an_option_is_read_in_both_forms() -> None:
    both = started("serve", "reconciler", "--mode=observe", "--part", "batch", "--last")

    assert [option(both, name) for name in ("--mode", "--part", "--last", "--par")] == ["observe", "batch", "", None]
    assert option(None, "--mode") is None


def test_a_part_is_a_reconciler_that_names_one() -> None:
    assert part_of(deployment("reconciler-part")) == "batch"
    assert [part_of(deployment(each)) for each in ("reconciler", "audit")] == ["", ""]
    assert part_of(started("serve", "reconciler", "--part=default")) == ""
    assert part_of(started("an", "operator", "--part=batch")) == ""


def test_the_secret_of_a_certificate_is_named_or_mounted() -> None:
    folder = {"name": "certs", "mountPath": "/certs"}
    volume = {"name": "certs", "secret": {"secretName": "from-cert-manager"}}

    assert secret_of(deployment("audit")) == "quotree-audit-certificate"
    assert secret_of(deployment("dashboard")) == "quotree-dashboard-certificate"
    supplied = started("--api-certs=/certs", "--supplied", mounts=[folder], volumes=[volume])
    assert secret_of(supplied) == "from-cert-manager"
    assert secret_of(started("--certs=/certs", mounts=[folder], volumes=[{"name": "certs", "emptyDir": {}}])) is None
    assert secret_of(None) is None


def test_a_process_says_which_lease_it_takes() -> None:
    usual = Ref("Lease", "any", SYSTEM)

    assert lease_of_process(deployment("audit"), usual) == Ref("Lease", "quotree-audit", SYSTEM)
    assert lease_of_process(started("--lease=lab/mine"), usual) == Ref("Lease", "mine", "lab")
    assert lease_of_process(started("--lease=mine"), usual) == usual
    assert lease_of_process(None, usual) == usual


def test_the_roles_of_all_processes_are_asked_for() -> None:
    by_process = {process: [each for each in roles() if each.process == process] for process in ("audit", "dashboard")}

    assert [each.name for each in by_process["audit"]] == ["quotree-audit", "quotree-audit-yunikorn", "quotree-audit"]
    audit = {access for each in by_process["audit"] for access in each.accesses}
    assert Access("delete", "openreports.io", "clusterreports") in audit
    assert Access("patch", "", "secrets", namespace=SYSTEM, name="quotree-dashboard-certificate") in {
        access for each in by_process["dashboard"] for access in each.accesses
    }
    assert account_of(deployment("audit"), SYSTEM).name == f"system:serviceaccount:{SYSTEM}:quotree-audit"
    assert account_of(started(), "lab").name == "system:serviceaccount:lab:default"


def test_another_part_has_the_shipped_role_under_its_own_name() -> None:
    (shipped,) = [each for each in roles() if each.process == "part"]

    research = of_part(shipped, "research")

    assert str(research) == "Role quotree-reconciler-research"
    assert {each.name for each in research.accesses} == {"quotree-reconciler-research"}
    assert Access("update", "coordination.k8s.io", "leases", "", SYSTEM, "quotree-reconciler-research") in (
        research.accesses
    )
    assert research.file == f"{shipped.file}, with research in place of batch"
    assert of_part(shipped, "batch") == shipped


# -- Services --


def endpoint_slice(*ready: bool | None, ports: bool = True) -> dict[str, Any]:
    endpoints = [
        {"addresses": [f"10.0.0.{number}"], "conditions": {} if each is None else {"ready": each}}
        for number, each in enumerate(ready)
    ]
    return {"endpoints": endpoints, "ports": [{"name": "api", "port": 8443}] if ports else None}


@pytest.mark.parametrize(
    ("slices", "state"),
    [
        ([], "failure"),
        ([endpoint_slice(False)], "failure"),
        ([endpoint_slice(True, ports=False)], "failure"),
        ([endpoint_slice(False), endpoint_slice(True)], "ok"),
        ([endpoint_slice(None)], "ok"),
        ([{"endpoints": None}], "failure"),
    ],
)
def test_a_service_leads_to_a_replica_that_is_ready(slices: list[dict[str, Any]], state: str) -> None:
    service = manifest("v1", "Service", "quotree-audit", namespace=SYSTEM)

    assert judged_service("any", service, slices, "apply it").state.value == state
    assert judged_service("any", None, slices, "apply it").fix == "apply it"


def test_an_address_in_two_slices_is_one_replica() -> None:
    both = [endpoint_slice(True), endpoint_slice(True)]

    assert judged_service("any", {}, both, "").message == "leads to 1 ready replica"


# -- the audit --


@pytest.mark.parametrize(
    ("synced", "age", "heard", "state"),
    [
        ("1.0", "12.5", "3.0", "ok"),
        ("1.0", "1200.0", "3.0", "ok"),
        ("1.0", "1200.1", "3.0", "warning"),
        ("1.0", "12.5", "181.0", "warning"),
        ("1.0", "12.5", "NaN", "warning"),
        ("1.0", "NaN", "3.0", "failure"),
        ("0.0", "12.5", "3.0", "failure"),
    ],
)
def test_the_age_of_the_last_audit(synced: str, age: str, heard: str, state: str) -> None:
    shown = {"cache_synced": synced, "age_seconds": age, "cache_age_seconds": heard}
    text = "".join(f"quotree_audit_{name} {value}\n" for name, value in shown.items())

    assert judged_audit("any", text, 600.0).state.value == state
    assert judged_audit("any", "<html>a proxy's page</html>", 600.0).state.value == "skipped"


KEPT = Keeper(installed=True)


@pytest.mark.parametrize(
    ("missing", "ours", "keeper", "state"),
    [
        ([], "", KEPT, "ok"),
        ([], "clusterreports quotree-a", KEPT, "ok"),
        (["clusterreports"], "", KEPT, "warning"),
        ([], "clusterreports quotree-a", Keeper(True, True, "2026-01-01T00:00:00Z"), "warning"),
        ([], "clusterreports quotree-a", Keeper(True, True), "warning"),
        ([], "", Keeper(True, True), "ok"),
        ([], "clusterreports quotree-a", Keeper(False), "warning"),
        ([], "", Keeper(False), "skipped"),
    ],
)
def test_reports(missing: list[str], ours: str, keeper: Keeper, state: str) -> None:
    result = judged_reports(OPEN_REPORTS, missing, ours, keeper)

    assert (result.state.value, bool(result.fix)) == (state, state == "warning")


# -- the dashboard --


def test_the_service_that_a_url_names() -> None:
    assert service_of("https://quotree-reconciler.quotree-system.svc") == Ref("Service", "quotree-reconciler", SYSTEM)
    assert service_of("https://a.b.svc.cluster.local:8443/") == Ref("Service", "a", "b")
    outside = ("https://quotree.example.dev", "https://127.0.0.1:9443", "https://localhost", "", "https://[")
    assert [service_of(each) for each in outside] == [None] * len(outside)


def test_it_trusts_who_serves_what_its_ca_signed_for_that_name() -> None:
    authority, stranger = (new_authority(name, NOW, timedelta(days=9)) for name in ("ours", "stranger"))
    name = "quotree-reconciler.quotree-system.svc"
    served = from_secret("Secret any", [new_server(authority, [name], NOW, timedelta(days=9)).certificate])

    found = [
        judged_trust("any", served, authority.certificate, name),
        judged_trust("any", served, stranger.certificate, name),
        judged_trust("any", served, authority.certificate, "other"),
        judged_trust("any", served, "Secret any has no ca.crt", name),
    ]

    assert [each.state.value for each in found] == ["ok", "failure", "failure", "failure"]


def test_who_stands_behind_a_proxy_must_impersonate() -> None:
    users, groups = Access("impersonate", "", "users"), Access("impersonate", "", "groups")

    assert judged_impersonation("any", "me", []).state.value == "ok"
    missing = judged_impersonation("any", "me", [users, groups])
    assert missing.state.value == "warning"
    assert "me may not impersonate any of the users and groups" in missing.message
