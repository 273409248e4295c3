"""Finds the role that a user needs, from the API server's or the reconciler's message that refuses a request."""

from __future__ import annotations

import re

_BY_RBAC = re.compile(
    r'cannot (?P<verb>\w+) resource "(?P<resource>[^"/]+)[^"]*" in API group "(?P<group>[^"]*)"'
    r'(?: in the namespace "(?P<namespace>[^"]+)")?'
)
_BY_RECONCILER = re.compile(
    r"may not (?P<verb>\w+) (?P<resource>\w+)(?:\.(?P<group>[\w.-]+))?[^ ]*(?: in namespace (?P<namespace>\S+))?"
)
"""Matches a message of the reconciler, with the right as in `str(cluster.reviews.Access)`."""
_GROUPS = ("kueue.x-k8s.io", "visibility.kueue.x-k8s.io", "visibility.quotree.dev")
_READING = ("get", "list", "watch")
_VIEWERS = {
    ("scheduling.volcano.sh", "queues"): "quotree-volcano-viewer",
    ("", "namespaces"): "quotree-yunikorn-viewer",
    ("", "pods"): "quotree-yunikorn-viewer or quotree-volcano-gates-viewer",
    ("", "nodes"): "quotree-batch-admin",
}
"""The role that grants reading a resource in all namespaces, which some requests of /v1 need."""
_OF_USERS = ("localqueues", "workloads", "jobs", "namespacetrees")
"""The resources that `quotree-batch-user` grants in a namespace."""


def missing_role(message: str) -> str:
    """A sentence with the role that grants the refused right; empty if there is no such role or RBAC did not refuse."""
    found = _BY_RBAC.search(message) or _BY_RECONCILER.search(message)
    if found is None:
        return ""
    namespace, viewer = found["namespace"], _VIEWERS.get((found["group"] or "", found["resource"]))
    if viewer and not namespace and found["verb"] in _READING:
        return f"the ClusterRole {viewer} grants this"
    if found["group"] not in _GROUPS:
        return ""
    if namespace and found["verb"] in _READING and found["resource"] in _OF_USERS:
        return f"ask for the ClusterRole quotree-batch-user, by a RoleBinding in namespace {namespace}"
    return "the ClusterRole quotree-batch-admin grants this"
