"""Small kubeconfigs."""

from __future__ import annotations

from typing import Any


def config(cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None, **others: Any) -> dict[str, Any]:
    cluster = {"server": "https://worker.example.com:6443", "certificate-authority-data": "LS0t", **(cluster or {})}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "w", "user": "u"}}],
        "clusters": [{"name": "w", "cluster": cluster}],
        "users": [{"name": "u", "user": {"token": "t"} if user is None else user}],
        **others,
    }
