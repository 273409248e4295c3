"""One person's way to the API server: what is wrong with it is an error of the cluster, which a page can show."""

from __future__ import annotations

import re
import ssl
from pathlib import Path
from typing import Any

import pytest

from cli.exits import Misused
from cli.input.login import ClusterLogin
from cli.input.reconciler_api import Server, endpoint
from cli.serving.connection import Address, UserConnection
from cluster.errors import ClusterError, NotConfigured


def test_an_address_that_tokens_must_not_be_sent_to_is_an_error_of_the_cluster() -> None:
    with pytest.raises(NotConfigured, match="write https://HOST:PORT"):
        UserConnection(Address("http://elsewhere.example")).open()


def test_a_kubeconfig_that_is_missing_is_one_too() -> None:
    with pytest.raises(ClusterError, match="nowhere"):
        UserConnection(login=ClusterLogin(kubeconfig="/nowhere/config")).open()


@pytest.mark.parametrize("url", ["https://[::1", "https://host:port", "https://host:99999"])
def test_an_address_that_is_no_url_is_refused_at_the_start(url: str) -> None:
    with pytest.raises(Misused, match=re.escape(url)):
        Address(url).endpoint()
    with pytest.raises(Misused, match=re.escape(f"--reconciler {url}")):
        endpoint(Server(url), ClusterLogin())


def test_authorities_without_a_key_identifier_are_trusted_as_by_kubectl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    default = ssl.create_default_context

    def of_python_3_13(**options: Any) -> ssl.SSLContext:
        context = default(**options)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        return context

    monkeypatch.setattr(ssl, "create_default_context", of_python_3_13)
    (tmp_path / "token").write_text("token")
    server = Server("https://reconciler.example", token_file=str(tmp_path / "token"))
    for found in (Address("https://api.example").endpoint(), endpoint(server, ClusterLogin())):
        assert found.tls is not None
        assert not found.tls.verify_flags & ssl.VERIFY_X509_STRICT
