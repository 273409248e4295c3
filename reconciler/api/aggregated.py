"""What /v1 answers, as an API of the cluster: the API server passes on what is asked of this group, and by whom.

A path is that of /v1 under another prefix, since those of /v1 have the form of the API server's paths. So it checks
the right to the resource in the path, such as `get localqueues/pendingworkloads`, before it asks us; what we demand of
callers of /v1 we demand here as well.
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
"""Each with whether it is in a namespace and the kind of the answer; the API server asks for the right to get it.

`trees` and `namespacetrees`, which it asks for the right to list, are not among them: programs that list whatever can
be listed would take a tree for a list.
"""


def discovery(path: str) -> dict[str, Any] | None:
    """The documents by which the API server and its clients find out what there is; None at other paths."""
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
    """None where it is no path of the group."""
    return f"/v1{path.removeprefix(PREFIX)}" if path.startswith(f"{PREFIX}/") else None
