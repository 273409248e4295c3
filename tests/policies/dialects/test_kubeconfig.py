"""Which kubeconfigs of worker clusters are refused, and why."""

from __future__ import annotations

from typing import Any

import pytest

from policies.dialects.addresses import may_be_metadata
from policies.dialects.kubeconfig import Trust, content_fault, path_fault
from tests.policies.dialects.kubeconfigs import config
from tests.profiles import each_case

PLAIN = "untrusted server endpoint: write https://; reconciler.multiKueue.connection.allowPlainHTTP allows http"
LINK = "untrusted server endpoint: a link-local address or one of a cloud's metadata service is not allowed"


def test_a_token_and_an_authority_in_the_file_itself_are_fine() -> None:
    assert content_fault(config()) is None


@pytest.mark.parametrize(
    "server",
    ["https://10.0.0.1", "https://[fd00::1]:6443/behind/a/gateway", "HTTPS://Worker.Example", "https://169.253.1.1"],
)
def test_addresses_and_names_are_fine(server: str) -> None:
    assert content_fault(config({"server": server})) is None


@each_case(
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
        (config({"server": "https://me@worker.example.com"}), "untrusted server endpoint"),
        (config({"server": "https://169.254.169.254\\@worker.example.com"}), "untrusted server endpoint"),
        (config({"server": "http://worker.example.com"}), PLAIN),
        (config({"server": "worker.example.com:6443"}), PLAIN),
        (config({"server": "httpsx://worker.example.com"}), PLAIN),
        (
            config({"proxy-url": "http://proxy:3128"}),
            "proxy-url is not allowed; reconciler.multiKueue.connection.allowProxy of the settings allows it",
        ),
        (
            {**config(), "current-context": "other"},
            'invalid configuration: the current context "other" does not exist',
        ),
        (config(clusters=[]), 'invalid configuration: the cluster "w" of context "c" does not exist'),
        ({}, 'invalid configuration: the current context "" does not exist'),
        (
            config(clusters="nonsense", contexts={}),
            'invalid configuration: the current context "c" does not exist',
        ),
        (config(users=[1]), 'invalid configuration: each entry of "users" needs a name that is a string'),
        (
            config(clusters=2 * config()["clusters"]),
            'invalid configuration: two entries of "clusters" have the same name',
        ),
    ],
)
def test_unsafe_or_unusable_kubeconfig_is_rejected(given: dict[str, Any], fault: str) -> None:
    assert fault == content_fault(given)


def test_numeric_user_name_does_not_hide_an_exec_user() -> None:
    """The kubernetes package finds an entry by any value, so it would take the second user here."""
    context = {"name": "c", "context": {"cluster": "w", "user": 1}}
    users = [{"name": 2, "user": {"token": "t"}}, {"name": 1, "user": {"exec": {"command": "sh"}}}]

    fault = content_fault(config(contexts=[context], users=users))
    assert fault == 'invalid configuration: each entry of "users" needs a name that is a string'


def test_explicitly_allowed_settings_are_accepted() -> None:
    assert content_fault(config({"insecure-skip-tls-verify": True}), Trust(insecure_tls=True)) is None
    assert content_fault(config(user={"exec": {"command": "sh"}}), Trust(exec=True)) is None
    assert content_fault(config({"server": "http://worker.example.com"}), Trust(plain_http=True)) is None
    assert content_fault(config({"server": "https://169.254.1.1"}), Trust(link_local=True)) is None
    assert content_fault(config({"proxy-url": "http://proxy:3128"}), Trust(proxy=True)) is None


def test_permission_does_not_allow_other_unsafe_settings() -> None:
    assert content_fault(config({"server": "gopher://worker.example.com"}), Trust(plain_http=True)) == PLAIN
    assert content_fault(config({"server": "http://169.254.1.1"}), Trust(plain_http=True)) == LINK


@each_case(
    "host",
    [
        *("169.254.169.254", "2852039166", "0xA9FEA9FE", "0251.0376.0251.0376", "169.254.43518"),
        *("0xa9.0xfe.0xa9fe", "[fe80::1]", "[FEBF::1]", "[fe80::1%25eth0]", "[::ffff:169.254.169.254]"),
        *("[::ffff:a9fe:a9fe]", "[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::1]", "[::a9fe:a9fe]"),
        *("[fd00:ec2::254]", "[FD00:0EC2:0::254]", "100.100.100.200", "0x646464c8"),
        *("168.63.129.16", "[::ffff:168.63.129.16]", "[fd20:ce::254]", "[fd00:c1::a9fe:a9fe]"),
        *("0x000000000000000000000a9fea9fe", "169.254.0000000000000000000000124776"),
    ],
)
def test_link_local_address_is_rejected_in_any_spelling(host: str) -> None:
    assert content_fault(config({"server": f"https://{host}:443/latest"})) == LINK


def test_link_local_address_with_a_trailing_dot_is_rejected() -> None:
    assert may_be_metadata("169.254.169.254.")
    assert content_fault(config({"server": "https://169.254.169.254.:443"})) == "untrusted server endpoint"


@pytest.mark.parametrize(
    "host",
    [
        "2852039166.example.com",
        "169.254.example.com",
        "169.254.1.1.1",
        "10.254.1.1",
        "999999999999",
        "1.8.089",
        "100.100.100.201",
        "fd00:ec2::255",
    ],
)
def test_host_similar_to_a_link_local_address_is_accepted(host: str) -> None:
    assert not may_be_metadata(host)


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
