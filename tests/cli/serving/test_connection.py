"""One person's way to the API server: what is wrong with it is an error of the cluster, which a page can show."""

from __future__ import annotations

import pytest

from cli.input.login import ClusterLogin
from cli.serving.connection import Address, UserConnection
from cluster.errors import ClusterError, NotConfigured


def test_an_address_that_tokens_must_not_be_sent_to_is_an_error_of_the_cluster() -> None:
    with pytest.raises(NotConfigured, match="write https://HOST:PORT"):
        UserConnection(Address("http://elsewhere.example")).open()


def test_a_kubeconfig_that_is_missing_is_one_too() -> None:
    with pytest.raises(ClusterError, match="nowhere"):
        UserConnection(login=ClusterLogin(kubeconfig="/nowhere/config")).open()
