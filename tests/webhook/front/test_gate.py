"""Who is served."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.front.gate import Gate

STRANGE = "the client certificate has none of the names in --client-name"
SHOWN = {
    "subject": ((("organizationName", "system:masters"),), (("commonName", "kube-apiserver"),)),
    "subjectAltName": (("DNS", "api.example.com"),),
}


@pytest.mark.parametrize(
    ("gate", "certificate", "reported"),
    [
        (Gate(), None, ""),
        (Gate(closed=True), None, "send a client certificate of the authority in --client-ca"),
        (Gate(closed=True), {}, "send a client certificate of the authority in --client-ca"),
        (Gate(closed=True), SHOWN, ""),
        (Gate(True, frozenset({"kube-apiserver", "other"})), SHOWN, ""),
        (Gate(True, frozenset({"api.example.com"})), SHOWN, ""),
        (
            Gate(True, frozenset({"system:masters"})),
            SHOWN,
            "the client certificate has none of the names in --client-name",
        ),
    ],
)
def test_a_closed_gate_wants_a_certificate_with_a_name(
    gate: Gate, certificate: dict[str, Any] | None, reported: str
) -> None:
    assert gate.refusal(certificate) == reported
