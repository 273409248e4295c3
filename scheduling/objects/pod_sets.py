"""Pod sets of a Workload, and where a job of any kind keeps them: paths of pod templates and of numbers of pods.

The kinds that Kueue knows itself are in `policies.dialects.kueue_templates`.
Source: Kueue v0.19, pkg/controller/jobframework and pkg/util/podset.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from policies.dialects.kueue_kinds import PREFIX
from policies.dialects.reading import Manifest, listing, mapping, text, texts

_ANNOTATIONS = f"{PREFIX}podset-"


@dataclass(frozen=True, slots=True)
class Count:
    """A number of pods at a path, 1 where it is absent, and no more than what another path says."""

    path: str
    at_most: str = ""

    def of(self, thing: Manifest) -> int:
        count, most = _whole(at(thing, self.path)), _whole(at(thing, self.at_most)) if self.at_most else None
        count = 1 if count is None else max(0, count)
        return count if most is None else min(count, max(0, most))


@dataclass(frozen=True, slots=True)
class PodSetPath:
    """Where a job keeps one pod set, or a list of them.

    `template` is the path of a pod template; without one there is no such pod set. `counts` are multiplied. With
    `entries`, the path of a list, the other paths start at each entry, and `name` is the path of its name.
    """

    name: str
    template: str
    counts: tuple[Count, ...] = ()
    entries: str = ""
    index_label: str = ""
    """The label by which its pods are numbered, for topology-aware scheduling."""


def pod_sets(manifest: Manifest, paths: Iterable[PodSetPath]) -> list[dict[str, Any]]:
    """The pod sets as a Workload's spec has them. Names are in lower case, as Kueue writes them."""
    return [made for path in paths for made in _pod_sets(manifest, path)]


def _pod_sets(manifest: Manifest, path: PodSetPath) -> Iterator[dict[str, Any]]:
    if not path.entries:
        yield from _pod_set(manifest, path, path.name)
        return
    for entry in map(mapping, listing(at(manifest, path.entries))):
        yield from _pod_set(entry, path, text(at(entry, path.name)) or "")


def _pod_set(thing: Manifest, path: PodSetPath, name: str) -> Iterator[dict[str, Any]]:
    template = at(thing, path.template)
    if not isinstance(template, Mapping):
        return
    pods = 1
    for count in path.counts:
        pods *= count.of(thing)
    yield pod_set(name.lower(), pods, template, path.index_label)


def pod_set(name: str, count: int, template: Mapping[str, Any], index_label: str = "") -> dict[str, Any]:
    """One pod set of a Workload's spec; what its pods ask of the topology is in annotations of the template."""
    made: dict[str, Any] = {"name": name, "count": count, "template": dict(template)}
    if request := topology_request(texts(mapping(template.get("metadata")).get("annotations")), index_label):
        made["topologyRequest"] = request
    return made


def topology_request(annotations: Mapping[str, str], index_label: str = "") -> dict[str, Any]:
    """The topologyRequest that annotations of a pod template stand for; empty where there are none."""
    asked = {
        key.removeprefix(_ANNOTATIONS): value for key, value in annotations.items() if key.startswith(_ANNOTATIONS)
    }
    request: dict[str, Any] = {
        "required": asked.get("required-topology"),
        "preferred": asked.get("preferred-topology"),
        "unconstrained": True if asked.get("unconstrained-topology") == "true" else None,
        "podSetSliceRequiredTopology": asked.get("slice-required-topology"),
        "podSetSliceSize": _number(asked.get("slice-size")),
        "podSetGroupName": asked.get("group-name"),
    }
    told = {key: value for key, value in request.items() if value is not None}
    if told and index_label:
        told["podIndexLabel"] = index_label
    return told


def at(thing: object, path: str) -> object:
    """What is at a path of keys between dots; None where nothing is."""
    for key in path.split("."):
        thing = mapping(thing).get(key)
    return thing


def _number(value: str | None) -> int | None:
    return int(value) if value and value.isascii() and value.isdecimal() and len(value) < 10 else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
