"""Authenticates a token and checks the rights of a user, by review objects, which the API server does not store."""

from dataclasses import dataclass
from typing import Any

from cluster.client import ClusterClient
from cluster.errors import BadAnswer
from cluster.resource import Manifest

_TOKENS = "/apis/authentication.k8s.io/v1/tokenreviews"
_OWN_ACCESS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_ACCESS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


@dataclass(frozen=True, slots=True)
class Caller:
    """A user of the API server; `extra` is what the authenticator adds, such as scopes."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Access:
    """A request to authorize.

    An empty `name` means any name. An empty `namespace` means all namespaces, or a cluster-scoped resource.
    """

    verb: str
    group: str
    resource: str
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        """The access in the form of `kubectl auth can-i`."""
        group = f".{self.group}" if self.group else ""
        whole = f"{self.resource}{group}{f'/{self.subresource}' if self.subresource else ''}"
        return f"{self.verb} {whole}" + (f" in namespace {self.namespace}" if self.namespace else "")


@dataclass(frozen=True, slots=True)
class PathAccess:
    """A request to authorize for a non-resource path, such as /metrics."""

    verb: str
    path: str

    def __str__(self) -> str:
        return f"{self.verb} {self.path}"


def who(cluster: ClusterClient, token: str) -> Caller | None:
    """The user of the token; None if the token is not valid. Raises ClusterError."""
    status = _reviewed(cluster, _TOKENS, "TokenReview", "authentication.k8s.io/v1", {"token": token})
    user = status.get("user")
    if not status.get("authenticated") or not isinstance(user, dict) or not user.get("username"):
        return None
    extra = user.get("extra") or {}
    return Caller(
        str(user["username"]),
        str(user.get("uid") or ""),
        tuple(map(str, user.get("groups") or ())),
        tuple((str(key), tuple(map(str, values or ()))) for key, values in sorted(extra.items())),
    )


def may(cluster: ClusterClient, caller: Caller, access: Access | PathAccess) -> bool:
    """Whether the API server allows the access to `caller`. Raises ClusterError."""
    spec: dict[str, Any] = {"user": caller.name, "groups": list(caller.groups), **_attributes(access)}
    if caller.uid:
        spec["uid"] = caller.uid
    if caller.extra:
        spec["extra"] = {key: list(values) for key, values in caller.extra}
    status = _reviewed(cluster, _ACCESS, "SubjectAccessReview", "authorization.k8s.io/v1", spec)
    return status.get("allowed") is True and status.get("denied") is not True


def may_i(cluster: ClusterClient, access: Access) -> bool:
    """Whether the API server allows the access to the user of `cluster`. Raises ClusterError."""
    status = _reviewed(cluster, _OWN_ACCESS, "SelfSubjectAccessReview", "authorization.k8s.io/v1", _attributes(access))
    return status.get("allowed") is True and status.get("denied") is not True


def _attributes(access: Access | PathAccess) -> dict[str, dict[str, str]]:
    if isinstance(access, PathAccess):
        return {"nonResourceAttributes": {"verb": access.verb, "path": access.path}}
    attributes = {"verb": access.verb, "group": access.group, "resource": access.resource}
    rest = {"subresource": access.subresource, "namespace": access.namespace, "name": access.name}
    return {"resourceAttributes": {**attributes, **{key: value for key, value in rest.items() if value}}}


def _reviewed(cluster: ClusterClient, path: str, kind: str, version: str, spec: Manifest) -> Manifest:
    answer = cluster.create(path, {"apiVersion": version, "kind": kind, "spec": spec})
    status = answer.get("status")
    if not isinstance(status, dict):
        raise BadAnswer(f"POST {path}: the response has no status")
    return status
