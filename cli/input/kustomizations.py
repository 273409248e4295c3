"""Reads kustomizations: their resources, their patches, and references that would have to be downloaded."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cli.input.regular_file import read_regular
from policies.dialects.reading import mapping, text
from policies.text import yaml_values
from policies.text.positions import BadText

FILES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_MOST = 2**20
"""The maximum size of a kustomization in bytes. Only generated files are larger."""
_PLAIN = {"apiVersion", "kind", "metadata", "resources", "bases", "buildMetadata", "sortOptions"}
"""A kustomization that has only these keys does not change its resources."""
_RESOURCES = ("resources", "bases", "components")
_OTHERS = ("patchesStrategicMerge", "configurations", "crds", "generators", "transformers", "validators")
_WITH_PATHS = ("patches", "patchesJson6902", "replacements")
_CHARTS = ("helmCharts", "helmChartInflationGenerator")


@dataclass(frozen=True, slots=True)
class Kustomization:
    """A kustomization. Its paths only include files and folders that exist.

    `component`: whether it is a Component.
    `resources`: the resources, bases and components.
    `others`: files that change them, such as patches.
    `generated`: files from which it makes ConfigMaps.
    `plain`: whether the build does not change the resources.
    `hindrance`: why it cannot be built without a download; empty if it can.
    """

    folder: str
    component: bool
    resources: tuple[str, ...]
    others: tuple[str, ...]
    generated: tuple[str, ...]
    plain: bool
    hindrance: str


def read_kustomization(folder: str, name: str) -> Kustomization | None:
    """Read a kustomization; None if it cannot be read, or is a Kustomization of Flux."""
    try:
        content = yaml_values.single(read_regular(f"{folder}/{name}", _MOST)[0].decode("utf-8-sig"))
    except (OSError, ValueError, BadText):
        return None
    if not isinstance(content, dict) or "kustomize.toolkit.fluxcd.io" in str(content.get("apiVersion")):
        return None
    resources = [each for key in _RESOURCES for each in _texts(content.get(key))]
    local = [path for each in resources if (path := _local(folder, each))]
    others = [path for each in _other_names(content) if (path := _local(folder, each))]
    generated = [path for each in _generating(content) if (path := _local(folder, each))]
    return Kustomization(
        folder,
        content.get("kind") == "Component",
        tuple(local),
        tuple(others),
        tuple(generated),
        set(content) <= _PLAIN,
        _hindrance(folder, content, resources),
    )


def _hindrance(folder: str, content: dict[str, Any], resources: list[str]) -> str:
    charts = next((key for key in _CHARTS if content.get(key)), None)
    if charts:
        return f"its {charts} come from elsewhere"
    absent = next((each for each in resources if not _local(folder, each)), None)
    return f"{' '.join(absent.split())[:100]} is not here" if absent else ""


def _other_names(content: dict[str, Any]) -> Iterator[str]:
    for key in _OTHERS:
        yield from _texts(content.get(key))
    for key in _WITH_PATHS:
        entries = content.get(key)
        for entry in entries if isinstance(entries, list) else []:
            yield from _texts([mapping(entry).get("path")])


def _generating(content: dict[str, Any]) -> Iterator[str]:
    """The files of configMapGenerator, each without the key that may precede it: `queues.yaml=prod.yaml`."""
    entries = content.get("configMapGenerator")
    for entry in entries if isinstance(entries, list) else []:
        yield from (each.rpartition("=")[2] for each in _texts(mapping(entry).get("files")))


def _texts(value: Any) -> list[str]:
    return [each for each in value if text(each)] if isinstance(value, list) else []


def _local(folder: str, name: str) -> str:
    """The local path of a resource; empty if it has none, such as a URL or inline YAML."""
    if "\n" in name or "\0" in name or "://" in name:
        return ""
    path = os.path.normpath(f"{folder}/{name}") if not name.startswith("/") else ""
    return path if path and os.path.exists(path) else ""


@dataclass(frozen=True, slots=True)
class KustomizeBuild:
    """A kustomization that no other one uses (`top`), and all that it includes, itself among them (`parts`)."""

    top: Kustomization
    parts: tuple[Kustomization, ...]
    files: frozenset[str]
    """The normalized paths of all resources, patches and configurations."""
    generated: frozenset[str]
    """The normalized paths of the files from which ConfigMaps are made."""

    @property
    def plain(self) -> bool:
        return all(each.plain for each in self.parts)

    @property
    def hindrance(self) -> str:
        return next((each.hindrance for each in self.parts if each.hindrance), "")

    @property
    def bases(self) -> frozenset[str]:
        """The normalized paths of the included kustomizations, without components."""
        return frozenset(os.path.normpath(it.folder) for it in self.parts if it is not self.top and not it.component)


def builds(found: list[Kustomization]) -> list[KustomizeBuild]:
    """One build for each kustomization that no other one uses. Its parts may be outside of the folder."""
    known = {os.path.normpath(each.folder): each for each in found}
    used = {path for each in found for path in each.resources}
    tops = [each for path, each in known.items() if path not in used and not each.component]
    return [_build(top, known) for top in tops]


def _build(top: Kustomization, known: dict[str, Kustomization]) -> KustomizeBuild:
    parts: dict[str, Kustomization] = {}
    files: set[str] = set()
    generated: set[str] = set()
    left = [top]
    while left:
        part = left.pop()
        folder = os.path.normpath(part.folder)
        if folder in parts:
            continue
        parts[folder] = part
        files.update(part.others)
        generated.update(part.generated)
        for path in part.resources:
            if not os.path.isdir(path):
                files.add(path)
            elif inner := known.get(path) or _elsewhere(path):
                left.append(inner)
    return KustomizeBuild(top, tuple(parts.values()), frozenset(files), frozenset(generated))


def _elsewhere(folder: str) -> Kustomization | None:
    found = (read_kustomization(folder, name) for name in FILES if os.path.isfile(f"{folder}/{name}"))
    return next(filter(None, found), None)
