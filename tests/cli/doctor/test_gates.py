"""Pods at a gate whom nobody lets pass, on the manifests that are shipped."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from cli.doctor.checks.gates import quota_gates
from cli.doctor.result import CheckResult
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


def test_without_gates_there_is_nothing_to_look_at() -> None:
    ((state, message),) = said(webhook=webhook(), reconciler=reconciler())

    assert (state, message) == ("skipped", "no Pod waits at a gate for the quota of Volcano or YuniKorn here")


@pytest.mark.parametrize("dialect", ["volcano", "yunikorn"])
def test_as_the_component_installs_it_the_reconciler_lets_them_pass(dialect: str) -> None:
    gates = f"--gates={dialect}"

    assert said(f"{dialect}-gates", webhook=webhook(gates), reconciler=reconciler(gates)) == [
        ("ok", f"Deployment {SYSTEM}/quotree-reconciler admits the Pods if there is room")
    ]


def test_a_file_that_both_read_is_as_good_as_the_arguments() -> None:
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
def test_pods_that_nobody_lets_pass(deciding: Manifest | None, why: str) -> None:
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


def test_settings_from_elsewhere_are_not_guessed() -> None:
    elsewhere = reconciler("--settings=/run/settings.yaml")

    ((state, message),) = said("volcano-gates", webhook=webhook("--gates=volcano"), reconciler=elsewhere)

    assert (state, "what Deployment" in message) == ("skipped", True)


@pytest.mark.parametrize("broken", ["kind: [", "kind: Other", ""])
def test_a_configuration_that_cannot_be_read_is_not_guessed(broken: str) -> None:
    ((state, _),) = said("volcano-gates", configuration=broken, webhook=webhook(), reconciler=reconciler())

    assert state == "skipped"


def test_half_of_it_is_a_warning() -> None:
    """Nobody waits for ever then, and nobody waits for the quota either."""
    enforced = {"volcano": {"enforce": "gates"}}

    unasked = said(configuration=enforced, webhook=webhook(), reconciler=reconciler())
    off = said("yunikorn-gates", webhook=webhook(), reconciler=reconciler())

    assert [state for state, _ in unasked + off] == ["warning", "warning"]
    assert "does not call the webhook for Pods" in unasked[0][1]
    assert "so no Pod waits" in off[0][1]
