"""Keeps kustomize and helm, run on untrusted files, from downloading, running plugins and reading other local files.

Both programs follow links and may load some of their inputs from the network. The files are searched for such
references before the programs run, so that a message can name the place. In addition, the environment of the programs
has no plugins and, for local inputs, no working proxy.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from analysis.documents import SourcePlace, Unreadable
from cli.input.documents import read
from cli.input.kustomizations import FILES as KUSTOMIZATION_FILES
from cli.links import GIT, enclosing, leads_out
from policies.text import yaml_values
from policies.text.positions import BadText

_PLUGINS = ("generators", "transformers", "validators")
_FOLDERS = ("resources", "bases", "components", *_PLUGINS)
_PATHS = (*_FOLDERS, "crds", "configurations", "patchesstrategicmerge", "path", "paths", "files", "env", "envs")
"""Keys with paths, in lower case: kustomize ignores the case of keys."""
_REMOTE = re.compile(
    r"\s*(?:[\w-]+::|[a-z][a-z0-9+.-]*://|[a-z][a-z0-9-]*@[^/]*[:/]|(?:www\.)?github\.com[:/]|gh:)", re.I
)
_SCHEMA = "values.schema.json"
_DRAFTS = re.compile(r"https?://json-schema\.org/draft[/-][^?]*")
"""The URLs of JSON Schema's meta-schemas, which helm contains."""
_PIPED = "render it elsewhere and pipe: kustomize build DIR | quotree validate -"
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
_NOWHERE = "http://127.0.0.1:0"


def kustomize_environment(empty: str) -> dict[str, str]:
    """The environment of kustomize. `empty`: an empty folder, which replaces the home folders."""
    homes = ("HOME", "USERPROFILE", "XDG_CONFIG_HOME", "KUSTOMIZE_PLUGIN_HOME")
    return {**_offline_variables(), **dict.fromkeys(homes, empty), "KUBECONFIG": os.devnull, "KUBERC": "off"}


def helm_environment(empty: str, *, offline: bool) -> dict[str, str]:
    """The environment of helm. `empty`: an empty folder, which replaces helm's folders.

    `offline`: False for a chart of a repository, which needs the network and helm's folders, except its plugins.
    """
    variables = _offline_variables() if offline else dict(os.environ)
    homes = ("HELM_CONFIG_HOME", "HELM_DATA_HOME", "HELM_CACHE_HOME") if offline else ()
    return {**variables, **dict.fromkeys((*homes, "HELM_PLUGINS"), empty), "KUBECONFIG": os.devnull}


def _offline_variables() -> dict[str, str]:
    """Variables with unreachable proxies, and without any protocol that git may use."""
    return {
        **os.environ,
        **dict.fromkeys(_PROXIES, _NOWHERE),
        "NO_PROXY": "",
        "no_proxy": "",
        "GIT_ALLOW_PROTOCOL": "none",
    }


def fetched(folder: str) -> Iterator[Unreadable]:
    """The references of a kustomization, and of those that it includes, to the network or out of its checkout.

    Unreadable files that could contain such references are also returned.
    """
    if real := leads_out(folder):
        yield Unreadable(SourcePlace(folder, 1, 1), f"a link leads out of the checkout, to {real}; name that folder")
        return
    border = enclosing(Path(folder).resolve())
    waiting, seen = [_Part(Path(folder))], set()
    while waiting:
        part = waiting.pop()
        real = Path(os.path.realpath(part.path))
        if (real, part.plugins) in seen:
            continue
        seen.add((real, part.plugins))
        if real.is_dir():
            files = [part.path / name for name in KUSTOMIZATION_FILES]
            waiting += [replace(part, path=file) for file in files if file.is_file()]
            continue
        documents, unreadable = read([str(part.path)])
        yield from unreadable
        for document in documents:
            for key, field, named in _paths(document.manifest):
                path = named.rpartition("=")[2] if key == "files" else named
                entry, plugins = part.path.parent / path, part.plugins or key in _PLUGINS
                included = key in _FOLDERS and (os.path.isdir(entry) or (plugins and os.path.isfile(entry)))
                if _REMOTE.match(path):
                    problem = f"{named} would have to be downloaded, which is not done here; {_PIPED}"
                    yield Unreadable(document.place(field), problem)
                elif not (included or os.path.isfile(entry)):  # also the text of an inline patch or plugin
                    continue
                elif border is not None and _is_outside(entry, border):
                    yield Unreadable(document.place(field), f"{named} leads out of the checkout {border}")
                elif included:
                    waiting.append(_Part(entry, plugins))


@dataclass(frozen=True, slots=True)
class _Part:
    """A folder with a kustomization, or a file with references.

    `plugins`: its resources are configurations of plugins, which may also have references.
    """

    path: Path
    plugins: bool = False


def _paths(value: Any, key: str = "", field: str = "") -> Iterator[tuple[str, str, str]]:
    """Each text that is a path: its key in lower case, its field, and the text. A plugin may be inline in a list."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from _paths(each, str(name).lower(), f"{field}.{name}".lstrip("."))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _paths(each, key, f"{field}[{index}]")
    elif isinstance(value, str) and key in _PATHS:
        yield key, field, value
        for root in yaml_values.read(value) if key in (*_PLUGINS, "resources") else ():
            if not isinstance(root, BadText):
                yield from ((inner, field, path) for inner, _, path in _paths(root.value))


def linked_out(chart: str) -> Iterator[Unreadable]:
    """Links in a chart that lead out of its checkout, which helm would follow.

    Outside a checkout, they may not lead out of the chart.
    """
    if real := leads_out(chart):
        yield Unreadable(SourcePlace(chart, 1, 1), f"a link leads out of the checkout, to {real}; name that chart")
        return
    top = Path(chart).resolve()
    border, seen = enclosing(top) or top, set()
    waiting = [Path(chart)]
    while waiting:
        folder = waiting.pop()
        real = Path(os.path.realpath(folder))
        if real in seen:
            continue
        seen.add(real)
        for entry in sorted(folder.iterdir()):
            if entry.is_symlink() and _is_outside(entry, border):
                target = os.path.realpath(entry)
                yield Unreadable(
                    SourcePlace(str(entry), 1, 1), f"a link leads out of {border}, to {target}; helm would read it"
                )
            elif entry.is_dir() and entry.name != GIT:
                waiting.append(entry)


def _is_outside(path: Path, border: Path) -> bool:
    """Also in the folder `.git`, which may contain a token: its name has any case on some systems."""
    real = Path(os.path.realpath(path))
    return not real.is_relative_to(border) or any(part.lower() == GIT for part in real.relative_to(border).parts)


def has_own_schemas(chart: str) -> bool:
    """Whether the schemas for the values of a chart refer to no other files, which helm would download or read.

    Returns False if the chart has packed charts or linked folders, since these are not searched.
    """
    if not os.path.isdir(chart):
        return False
    for folder, folders, names in os.walk(chart):
        if any(Path(folder, name).is_symlink() for name in folders) or any(name.endswith(".tgz") for name in names):
            return False
        if _SCHEMA in names and not _has_no_outside_references(Path(folder, _SCHEMA)):
            return False
    return True


def _has_no_outside_references(file: Path) -> bool:
    try:
        return all(_is_inside_schema(key, text) for key, text in _references(json.loads(file.read_bytes())))
    except (OSError, ValueError, RecursionError):
        return False


def _references(value: Any) -> Iterator[tuple[str, str]]:
    for key, each in value.items() if isinstance(value, dict) else ():
        if key.startswith("$") and isinstance(each, str):
            yield key, each
        yield from _references(each)
    for each in value if isinstance(value, list) else ():
        yield from _references(each)


def _is_inside_schema(key: str, text: str) -> bool:
    """Whether the value of a key such as `$ref` or `$schema` refers to nothing outside of the schema."""
    if key == "$schema":
        return _DRAFTS.fullmatch(text) is not None
    return not key.endswith("ef") or text.startswith("#")
