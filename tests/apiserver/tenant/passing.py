"""A control plane that passes on to a Service on this machine what is asked of an APIService.

Nothing routes Services here, so the cluster's range of addresses is one of loopback, and the server behind the Service
listens at the Service's own address. All else is as in a cluster: the API server finds the Service and its port, shows
its front-proxy certificate, verifies that of the server by the caBundle, and names in headers who asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.apiserver.harness import ControlPlane, User
from tests.webhook.client_certificates import authority, client_certificate

RANGE = "127.96.0.0/24"
ADDRESS = "127.96.0.96"
PROXY = "front-proxy-client"
TENANT, STRANGER = "tina", "sam"
"""Users: one has the shipped role in a namespace, the other has nothing."""


def flags(folder: Path) -> list[str]:
    """Of a kube-apiserver that authenticates itself to those it passes requests on to."""
    signer = authority()
    client = client_certificate(signer, PROXY)
    files = {"ca.crt": signer.certificate, "client.crt": client.certificate, "client.key": client.key}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return [
        f"--service-cluster-ip-range={RANGE}",
        f"--requestheader-client-ca-file={folder / 'ca.crt'}",
        f"--requestheader-allowed-names={PROXY}",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={folder / 'client.crt'}",
        f"--proxy-client-key-file={folder / 'client.key'}",
    ]


def control_plane(folder: Path, users: Sequence[User], **options: Any) -> ControlPlane:
    return ControlPlane(users=users, api_server_flags=flags(folder), **options)


@dataclass(frozen=True)
class Reachable:
    """Where the Service of the reconciler leads: to a port of this machine."""

    port: int

    def __call__(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """The manifest with that port, and the Service with an address of loopback."""
        named = (manifest["kind"], manifest["metadata"]["name"])
        if named == ("Service", "quotree-reconciler"):
            (port,) = manifest["spec"]["ports"]
            return {
                **manifest,
                "spec": {**manifest["spec"], "clusterIP": ADDRESS, "ports": [{**port, "port": self.port}]},
            }
        if manifest["kind"] == "APIService":
            service = {**manifest["spec"]["service"], "port": self.port}
            return {**manifest, "spec": {**manifest["spec"], "service": service}}
        return manifest

    def endpoints(self) -> dict[str, Any]:
        """What the API server wants to see before it calls a Service; it calls the address of the Service."""
        return {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                "name": "quotree-reconciler-test",
                "namespace": "quotree-system",
                "labels": {"kubernetes.io/service-name": "quotree-reconciler"},
            },
            "addressType": "IPv4",
            "endpoints": [{"addresses": ["192.0.2.1"], "conditions": {"ready": True}}],
            "ports": [{"name": "api", "port": self.port, "protocol": "TCP"}],
        }
