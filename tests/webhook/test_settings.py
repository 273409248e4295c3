"""WebhookSettings are checked when they are made."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.settings import WebhookSettings


@pytest.mark.parametrize(
    ("setting", "reported"),
    [
        ({"tls_minimum": "1.1"}, "tls_minimum is '1.1'; it must be 1.2 or 1.3"),
        ({"port": 65536}, "port is 65536; it must be 0 to 65535"),
        ({"metrics_port": -1}, "metrics_port is -1; it must be 0 to 65535"),
        ({"threads": 0}, "threads is 0; it must be 1 or more"),
        ({"body_limit": 0}, "body_limit is 0; it must be 1 or more"),
        ({"log_one_allowed_in": 0}, "log_one_allowed_in is 0; it must be 1 or more"),
        ({"drain_seconds": -1}, "drain_seconds"),
        ({"connections": 0}, "connections is 0; it must be 1 or more"),
        ({"handshake_seconds": 0}, "handshake_seconds"),
        ({"request_seconds": 0}, "request_seconds"),
        ({"bytes_in_flight": 1024}, "bytes_in_flight must be enough for a body"),
    ],
)
def test_what_cannot_be_is_refused_with_its_name(setting: dict[str, Any], reported: str) -> None:
    with pytest.raises(ValueError, match=reported):
        WebhookSettings(**setting)


def test_the_defaults_and_the_edges_are_fine() -> None:
    edges = WebhookSettings(port=0, metrics_port=65535, threads=1, body_limit=1, drain_seconds=0, graceful_seconds=0)

    assert (WebhookSettings().port, WebhookSettings().tls_minimum, WebhookSettings().patience_seconds) == (
        9443,
        "1.3",
        0,
    )
    assert (edges.port, edges.metrics_port, edges.threads, edges.body_limit) == (0, 65535, 1, 1)
