"""The aggregated API: the API server forwards requests for this API group to the reconciler, which answers like /v1.

The paths equal those of /v1 with another prefix, because the paths of /v1 have the form of the API server's paths. So
the API server checks whether the caller has access to the resource in the path, such as
`get localqueues/pendingworkloads`, before it forwards the request. The reconciler also checks the access rights that
/v1 requires.
"""

from __future__ import annotations

from typing import Any

GROUP, VERSION = "visibility.quotree.dev", "v1alpha1"
PREFIX = f"/apis/{GROUP}/{VERSION}"
API_SERVICE = f"{VERSION}.{GROUP}"
_RESOURCES = (
    ("clusterqueues/pendingworkloads", False, "PendingWorkloadsSummary"),
    ("localqueues/pendingworkloads", True, "PendingWorkloadsSummary"),
    ("workloads/explanation", True, "Explanation"),
    ("jobs/state", True, "JobStates"),
)
"""Each resource with its scope and the kind of the response. The API server checks the right to get it.

`trees` and `namespacetrees` are not included, because they would need the right to list. Programs that list every
resource would mistake a tree for a list.
"""


def discovery(path: str) -> dict[str, Any] | None:
    """The discovery document for a path, for the API server and its clients; None at other paths."""
    version = {"groupVersion": f"{GROUP}/{VERSION}", "version": VERSION}
    group = {"name": GROUP, "versions": [version], "preferredVersion": version}
    if path == "/apis":
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [group]}
    if path == f"/apis/{GROUP}":
        return {"kind": "APIGroup", "apiVersion": "v1", **group}
    if path == PREFIX:
        resources = [
            {"name": name, "singularName": "", "namespaced": namespaced, "kind": kind, "verbs": ["get"]}
            for name, namespaced, kind in _RESOURCES
        ]
        return {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": f"{GROUP}/{VERSION}",
            "resources": resources,
        }
    return None


def path_of_v1(path: str) -> str | None:
    """The path under /v1; None if the path is not in the API group."""
    return f"/v1{path.removeprefix(PREFIX)}" if path.startswith(f"{PREFIX}/") else None
