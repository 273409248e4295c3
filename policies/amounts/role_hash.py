"""Computes Kueue's hash of the requests of a Pod, which is the role of the Pod in its group.

Pods that Kueue has labelled and Pods that are created later must get the same role. So the hashed text is exactly the
JSON that Go writes for the same values: maps are sorted by key, and structs have the order of their fields. Absent
values are null at the top level and are left out below.
Source: Kueue v0.19, pkg/util/pod and pkg/controller/jobs/pod; Kubernetes v1, core types.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, TypeAlias

from policies.dialects.reading import listing, mapping
from policies.model.quantity import canonical

_LENGTH = 8
_HTML = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
"""Characters that Go escapes in JSON, but Python does not."""

Reader: TypeAlias = Callable[[Any], Any]
Struct: TypeAlias = Mapping[str, Reader]
"""The function that writes the value of each field, in Go's order of fields."""


def role_hash(spec: Mapping[str, Any]) -> str:
    """The hash as eight hexadecimal digits."""
    text = json.dumps({"spec": _shape(spec)}, separators=(",", ":"), ensure_ascii=False, default=str)
    escaped = "".join(_HTML.get(letter, letter) for letter in text)
    return sha256(escaped.encode(errors="surrogatepass")).hexdigest()[:_LENGTH]


def _shape(spec: Mapping[str, Any]) -> dict[str, Any]:
    resources = spec.get("resources")
    found = {key: None if spec.get(key) is None else write(spec[key]) for key, write in _SPEC.items()}
    if isinstance(resources, Mapping):
        found["resources"] = _amounts_or_null(resources)
    return _by_key(found)


def _containers(containers: object) -> list[Any] | None:
    return [_container(mapping(entry)) for entry in listing(containers)] or None


def _container(container: Mapping[str, Any]) -> dict[str, Any]:
    ports = container.get("ports")
    requests = _amounts_or_null(mapping(container.get("resources")))
    return {"ports": None if ports is None else _PORTS(ports), "resources": {"requests": requests}}


def _amounts_or_null(resources: Mapping[str, Any]) -> dict[str, Any] | None:
    requests = resources.get("requests")
    return None if requests is None else _amounts(requests)


def _amounts(values: object) -> dict[str, Any]:
    """The amounts with quantities in Kubernetes' canonical form."""
    return _by_key({name: canonical(value) for name, value in mapping(values).items()})


def _by_key(values: object) -> dict[str, Any]:
    """A map in Go's order, which is that of the bytes of its keys."""
    return dict(sorted(mapping(values).items(), key=lambda pair: str(pair[0]).encode(errors="surrogatepass")))


def _as_it_is(value: Any) -> Any:
    return value


def _struct(required: str = "", /, **fields: Reader) -> Reader:
    """A reader of a struct. Empty fields are left out, except for pointers and for the fields in `required`."""
    kept = required.split()

    def write(value: object) -> dict[str, Any]:
        given = mapping(value)
        found = {name: reader(given[name]) for name, reader in fields.items() if given.get(name) is not None}
        return {name: each for name, each in found.items() if name in kept or each not in ("", [])}

    return write


def _list(reader: Reader) -> Reader:
    return lambda value: [reader(each) for each in listing(value)]


_TEXT = _as_it_is
_REQUIREMENTS = _list(_struct("key operator", key=_TEXT, operator=_TEXT, values=_as_it_is))
_LABELS = _struct(matchLabels=lambda labels: _by_key(labels) or "", matchExpressions=_REQUIREMENTS)
_NODE_TERM = _struct(matchExpressions=_REQUIREMENTS, matchFields=_REQUIREMENTS)
_REQUIRED, _PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
_NODES = _struct(
    **{
        _REQUIRED: _struct("nodeSelectorTerms", nodeSelectorTerms=_list(_NODE_TERM)),
        _PREFERRED: _list(_struct(weight=_as_it_is, preference=_NODE_TERM)),
    }
)
_POD_TERM = _struct(
    "topologyKey",
    labelSelector=_LABELS,
    namespaces=_as_it_is,
    topologyKey=_TEXT,
    namespaceSelector=_LABELS,
    matchLabelKeys=_as_it_is,
    mismatchLabelKeys=_as_it_is,
)
_PODS = _struct(
    **{_REQUIRED: _list(_POD_TERM), _PREFERRED: _list(_struct(weight=_as_it_is, podAffinityTerm=_POD_TERM))}
)
_PORTS = _list(_struct(name=_TEXT, hostPort=_as_it_is, containerPort=_as_it_is, protocol=_TEXT, hostIP=_TEXT))
_SPEC: Struct = {
    "initContainers": _containers,
    "containers": _containers,
    "nodeSelector": _by_key,
    "affinity": _struct(nodeAffinity=_NODES, podAffinity=_PODS, podAntiAffinity=_PODS),
    "tolerations": _list(_struct(key=_TEXT, operator=_TEXT, value=_TEXT, effect=_TEXT, tolerationSeconds=_as_it_is)),
    "runtimeClassName": _as_it_is,
    "priority": _as_it_is,
    "topologySpreadConstraints": _list(
        _struct(
            "topologyKey whenUnsatisfiable",
            maxSkew=_as_it_is,
            topologyKey=_TEXT,
            whenUnsatisfiable=_TEXT,
            labelSelector=_LABELS,
            minDomains=_as_it_is,
            nodeAffinityPolicy=_as_it_is,
            nodeTaintsPolicy=_as_it_is,
            matchLabelKeys=_as_it_is,
        )
    ),
    "overhead": _amounts,
    "resourceClaims": _list(
        _struct("name", name=_TEXT, resourceClaimName=_as_it_is, resourceClaimTemplateName=_as_it_is)
    ),
}
