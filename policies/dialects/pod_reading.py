"""Reads a Pod: its identity, its phase, and its labels and annotations.

A package that needs other fields derives its own class from this reading. Only this module reads the phase, gates and
deletion of a Pod, so all classes use the same names for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from sys import intern
from typing import Any

from policies.dialects.reading import Manifest, condition, listing, mapping, metadata, text, texts

SUCCEEDED, FAILED = "Succeeded", "Failed"
_USUAL_GRACE = 30
"""Kubernetes' default of terminationGracePeriodSeconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodLife:
    """The stage of a Pod's life.

    uid: its UID; a later Pod of the same name has another one.
    phase: status.phase; empty before it is set.
    gates: the names of its scheduling gates, in their order.
    deleting: whether its deletion was requested.
    bound: whether it has a node.
    """

    uid: str
    phase: str
    gates: tuple[str, ...]
    deleting: bool
    bound: bool

    @property
    def succeeded(self) -> bool:
        return self.phase == SUCCEEDED

    @property
    def failed(self) -> bool:
        return self.phase == FAILED

    @property
    def ended(self) -> bool:
        """Whether it has succeeded or failed, so that no container starts again."""
        return self.phase in (SUCCEEDED, FAILED)

    @property
    def may_run(self) -> bool:
        """Whether it runs, or may still start. A Pod that is deleted before it has a node never gets one."""
        return not self.ended and (self.bound or not self.deleting)

    def waits_at(self, gate: str) -> bool:
        return gate in self.gates


_LIFE = tuple(each.name for each in fields(PodLife))


@dataclass(frozen=True, slots=True, kw_only=True)
class PodReading(PodLife):
    """A Pod. It refers to its whole manifest, so caches must not keep it: they copy the fields that they need.

    meta, spec, status: parts of the manifest; empty if they are absent.
    """

    manifest: Manifest
    meta: Mapping[str, Any]
    spec: Mapping[str, Any]
    status: Mapping[str, Any]

    @property
    def life(self) -> dict[str, Any]:
        """The fields of a PodLife, for an object of a derived class."""
        return {name: getattr(self, name) for name in _LIFE}

    @property
    def namespace(self) -> str:
        return text(self.meta.get("namespace")) or ""

    @property
    def name(self) -> str:
        return text(self.meta.get("name")) or ""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def version(self) -> str:
        """Its resourceVersion; empty if it has none."""
        return text(self.meta.get("resourceVersion")) or ""

    @property
    def created(self) -> str:
        """Its creationTimestamp as written; empty if it has none."""
        return text(self.meta.get("creationTimestamp")) or ""

    @property
    def node(self) -> str:
        """The node that it is bound to; empty for none."""
        return node_in(self.spec)

    @property
    def labels(self) -> Mapping[str, str]:
        return texts(self.meta.get("labels"))

    @property
    def annotations(self) -> Mapping[str, str]:
        return texts(self.meta.get("annotations"))

    @property
    def grace(self) -> int:
        """The seconds that it has to terminate, or would have if it were deleted now."""
        given = self.meta.get("deletionGracePeriodSeconds"), self.spec.get("terminationGracePeriodSeconds")
        return next((seconds for seconds in given if isinstance(seconds, int)), _USUAL_GRACE)

    def condition(self, kind: str) -> Mapping[str, Any]:
        """Its condition of this type; empty if there is none."""
        return condition(self.status, kind)

    def says(self, kind: str) -> bool:
        return self.condition(kind).get("status") == "True"


def pod_reading(manifest: Manifest) -> PodReading:
    meta, spec, status = metadata(manifest), mapping(manifest.get("spec")), mapping(manifest.get("status"))
    return PodReading(
        uid=text(meta.get("uid")) or "",
        phase=intern(text(status.get("phase")) or ""),
        gates=gates_in(spec),
        deleting=bool(meta.get("deletionTimestamp")),
        bound=node_in(spec) != "",
        manifest=manifest,
        meta=meta,
        spec=spec,
        status=status,
    )


def node_in(spec: Mapping[str, Any]) -> str:
    """The node in the spec of a Pod, empty for none."""
    return text(spec.get("nodeName")) or ""


def gates_in(spec: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the scheduling gates in the spec of a Pod or of its template, in their order."""
    found = listing(spec.get("schedulingGates"))
    return _kept_once(tuple(text(mapping(gate).get("name")) or "" for gate in found)) if found else ()


@lru_cache(maxsize=256)
def _kept_once(names: tuple[str, ...]) -> tuple[str, ...]:
    """The same names as one shared tuple, since thousands of Pods have the same few gates."""
    return names
