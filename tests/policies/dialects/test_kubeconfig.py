"""Which kubeconfigs of worker clusters are refused, and why."""

from __future__ import annotations

from typing import Any

import pytest

from policies.dialects.kubeconfig import content_fault, path_fault
from tests.policies.dialects.kubeconfigs import config


def test_a_token_and_an_authority_in_the_file_itself_are_fine() -> None:
    assert content_fault(config()) is None


@pytest.mark.parametrize(
    "server", ["https://10.0.0.1", "https://[fd00::1]:6443/behind/a/gateway", "HTTPS://Worker.Example"]
)
def test_addresses_and_names_are_fine(server: str) -> None:
    assert content_fault(config({"server": server})) is None


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        (config(user={"tokenFile": "/token"}), "tokenFile is not allowed"),
        (config({"insecure-skip-tls-verify": True}), "insecure TLS verification is not allowed for cluster w"),
        (
            config({"certificate-authority": "/ca"}),
            "certificate-authority file paths are not allowed, use certificate-authority-data for cluster w",
        ),
        (config({"server": ""}), "server URL is required for cluster w"),
        (config(user={"username": "me"}), "basic auth is not allowed"),
        (config(user={"password": "p"}), "basic auth is not allowed"),
        (config(user={"exec": {"command": "sh"}}), "exec plugins are not allowed"),
        (config(user={"auth-provider": {"name": "gcp"}}), "auth providers are not allowed"),
        (config(user={"client-key": "/key"}), "client-key file paths are not allowed, use client-key-data"),
        (config({"server": "https://under_score"}), "untrusted server endpoint"),
        (config({"server": "https://[no"}), "untrusted server endpoint"),
        (
            {**config(), "current-context": "other"},
            'invalid configuration: the current context "other" does not exist',
        ),
        (config(clusters=[]), 'invalid configuration: the cluster "w" of context "c" does not exist'),
        ({}, 'invalid configuration: the current context "" does not exist'),
        (
            config(clusters="nonsense", users=[1], contexts={}),
            'invalid configuration: the current context "c" does not exist',
        ),
    ],
)
def test_what_is_unsafe_or_useless_is_refused(given: dict[str, Any], fault: str) -> None:
    assert fault == content_fault(given)


def test_what_is_allowed_explicitly_is_not_refused() -> None:
    assert content_fault(config({"insecure-skip-tls-verify": True}), allow_insecure=True) is None
    assert content_fault(config(user={"exec": {"command": "sh"}}), allow_exec=True) is None


@pytest.mark.parametrize("path", ["/etc/multikueue/kubeconfigs/a", "/etc/multikueue/kubeconfigs/x/../a"])
def test_a_file_below_the_folder_is_fine(path: str) -> None:
    assert path_fault(path) is None


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ("", "must not be empty"),
        ("a/b", "must be absolute"),
        ("../a", 'contains ".."'),
        ("/etc/multikueue/kubeconfigs", "is not under"),
        ("/etc/multikueue/kubeconfigs-other/a", "is not under"),
        ("/etc/multikueue/kubeconfigs/../../shadow", '"/etc/shadow" is not under'),
        ("/var/run/secrets/kubernetes.io/serviceaccount/token", "is not under"),
    ],
)
def test_a_path_elsewhere_is_refused(path: str, fault: str) -> None:
    assert fault in (path_fault(path) or "")
