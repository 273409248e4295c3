"""The components for cert-manager, beside what they replace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from certs.secret import service_names

MANIFESTS = Path(__file__).parents[2] / "manifests"
COMPONENT = MANIFESTS / "components" / "cert-manager"
MAKES_CERTIFICATES = ("--secret=", "--service=", "--validating=", "--mutating=", "--conversion=", "--certs=")


def container(path: Path) -> dict[str, Any]:
    (only,) = yaml.safe_load(path.read_text())["spec"]["template"]["spec"]["containers"]
    return dict(only)


def certificates() -> dict[str, dict[str, Any]]:
    documents = yaml.safe_load_all((COMPONENT / "certificates.yaml").read_text())
    return {each["metadata"]["name"]: each for each in documents if each["kind"] == "Certificate"}


def test_the_arguments_are_those_of_the_base_but_for_the_certificates() -> None:
    base, supplied = (container(path / "deployment.yaml")["args"] for path in (MANIFESTS / "base", COMPONENT))

    kept = [arg for arg in base if not arg.startswith(MAKES_CERTIFICATES)]
    assert [arg for arg in supplied if arg != "--supplied" and not arg.startswith("--certs=")] == kept
    assert "--supplied" in supplied


def test_it_serves_from_where_the_secret_of_the_certificate_is_mounted() -> None:
    deployment = yaml.safe_load((COMPONENT / "deployment.yaml").read_text())["spec"]["template"]["spec"]
    (volume,), (mount,) = deployment["volumes"], container(COMPONENT / "deployment.yaml")["volumeMounts"]

    assert volume["name"] == mount["name"]
    assert volume["secret"]["secretName"] == certificates()["quotree-webhook"]["spec"]["secretName"]
    assert f"--certs={mount['mountPath']}" in container(COMPONENT / "deployment.yaml")["args"]


def test_the_certificate_has_the_names_by_which_the_api_server_calls() -> None:
    service = yaml.safe_load((MANIFESTS / "base" / "service.yaml").read_text())["metadata"]

    assert certificates()["quotree-webhook"]["spec"]["dnsNames"] == [
        *service_names(service["name"], service["namespace"])
    ]


def test_what_is_injected_is_the_authority_of_that_certificate() -> None:
    for component in (COMPONENT, MANIFESTS / "components" / "cert-manager-crds"):
        patches = yaml.safe_load((component / "kustomization.yaml").read_text())["patches"]
        assert "quotree-system/quotree-webhook" in patches[0]["patch"]
