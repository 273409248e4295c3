"""Gated Pods that no reconciler admits, tested on the shipped manifests."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from cli.doctor.checks.gates import quota_gates
from cli.doctor.target import CheckResult
from tests.cli.doctor.objects import SYSTEM, target
from tests.manifests.component import base, documents

CONFIGURATIONS = f"/api/v1/namespaces/{SYSTEM}/configmaps"
MUTATING = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/quotree-mutate"
OURS = {"apiVersion": "config.quotree.dev/v1alpha1", "kind": "Configuration"}
Manifest = dict[str, Any]


def webhook(*arguments: str) -> Manifest:
    return started(base("deployment.yaml", "Deployment"), *arguments)


def reconciler(*arguments: str, ready: int = 2) -> Manifest:
    (deployment,) = documents("reconciler", "deployment.yaml")
    return {**started(deployment, *arguments), "status": {"readyReplicas": ready}}


def started(deployment: Manifest, *arguments: str) -> Manifest:
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    container["args"] += arguments
    return deployment


def said(
    *components: str, configuration: Manifest | str | None = None, **deployments: Manifest | None
) -> list[tuple[str, str]]:
    """State and message, with the webhooks of these components and this configuration of both programs."""
    webhooks = [
        each for name in components for patch in documents(name, "mutating-webhook.yaml") for each in patch["webhooks"]
    ]
    text = configuration if isinstance(configuration, str) else yaml.safe_dump({**OURS, **(configuration or {})})
    held = {
        f"{CONFIGURATIONS}/quotree-configuration": {"data": {"configuration.yaml": text}},
        MUTATING: {"webhooks": webhooks},
    }
    present = {name: each for name, each in deployments.items() if each is not None}
    found: list[CheckResult] = list(quota_gates.run(target(held, **present)))
    assert all(each.fix or each.state.value in ("ok", "skipped") for each in found)
    return [(each.state.value, each.message) for each in found]


def test_check_is_skipped_without_gates() -> None:
    ((state, message),) = said(webhook=webhook(), reconciler=reconciler())

    assert (state, message) == ("skipped", "no Pod waits at a gate for the quota of Volcano or YuniKorn here")


@pytest.mark.parametrize("dialect", ["volcano", "yunikorn"])
def test_installed_component_has_a_reconciler_that_removes_the_gates(dialect: str) -> None:
    gates = f"--gates={dialect}"

    assert said(f"{dialect}-gates", webhook=webhook(gates), reconciler=reconciler(gates)) == [
        ("ok", f"Deployment {SYSTEM}/quotree-reconciler admits the Pods if there is room")
    ]


def test_enforcement_in_a_shared_configuration_file_is_recognized() -> None:
    enforced = {"yunikorn": {"enforce": "gates"}}

    ((state, _),) = said("yunikorn-gates", configuration=enforced, webhook=webhook(), reconciler=reconciler())

    assert state == "ok"


@pytest.mark.parametrize(
    ("deciding", "why"),
    [
        (None, "is not installed"),
        (reconciler("--gates=volcano", "--mode=observe"), "runs with --mode observe"),
        (reconciler("--gates=volcano", ready=0), "no replica of"),
        (reconciler(), "volcano.enforce is off in"),
        (reconciler("--gates=yunikorn"), "volcano.enforce is off in"),
    ],
)
def test_gated_pods_without_a_working_reconciler_fail(deciding: Manifest | None, why: str) -> None:
    ((state, message),) = said("volcano-gates", webhook=webhook("--gates=volcano"), reconciler=deciding)

    assert (state, why in message) == ("failure", True)
    assert message.startswith("Pods wait at a gate that nothing removes: ")


def test_a_reconciler_of_an_older_version_that_reads_no_settings() -> None:
    old = reconciler()
    (container,) = old["spec"]["template"]["spec"]["containers"]
    container["args"] = [each for each in container["args"] if not each.startswith("--settings")]
    enforced = {"volcano": {"enforce": "gates"}}

    ((state, message),) = said("volcano-gates", configuration=enforced, webhook=webhook(), reconciler=old)

    assert (state, "volcano.enforce is off in Deployment" in message) == ("failure", True)


def test_check_is_skipped_for_settings_from_another_path() -> None:
    elsewhere = reconciler("--settings=/run/settings.yaml")

    ((state, message),) = said("volcano-gates", webhook=webhook("--gates=volcano"), reconciler=elsewhere)

    assert (state, "what Deployment" in message) == ("skipped", True)


@pytest.mark.parametrize("broken", ["kind: [", "kind: Other", ""])
def test_check_is_skipped_for_an_unreadable_configuration(broken: str) -> None:
    ((state, _),) = said("volcano-gates", configuration=broken, webhook=webhook(), reconciler=reconciler())

    assert state == "skipped"


def test_gates_enabled_in_only_one_component_are_a_warning() -> None:
    """No Pod waits indefinitely then, but the quota is not enforced either."""
    enforced = {"volcano": {"enforce": "gates"}}

    unasked = said(configuration=enforced, webhook=webhook(), reconciler=reconciler())
    off = said("yunikorn-gates", webhook=webhook(), reconciler=reconciler())

    assert [state for state, _ in unasked + off] == ["warning", "warning"]
    assert "does not call the webhook for Pods" in unasked[0][1]
    assert "so no Pod waits" in off[0][1]
