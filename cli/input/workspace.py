"""Splits the inputs into organisations: by --each, or by the roots of the configuration file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from cli.exits import Misused
from cli.input.against import Against, AgainstType
from cli.input.documents import expand
from cli.input.folders import PathExclusion
from cli.input.selection import InputSelection
from cli.input.settings import configuration_file, named_configuration, read_file
from cli.links import stays_below
from policies.configuration.section import Section
from policies.model.errors import BadConfiguration

_TRUST = "if you trust the file, name it with --config"


@dataclass(frozen=True, slots=True)
class Organisation:
    """A part of the inputs that is judged separately.

    `name`: the path of the root that the user or the configuration names. If it is empty, the roots in the selection
    are found from its files.
    `against`: the context that the configuration names for this root.
    """

    selection: InputSelection
    name: str = ""
    against: Against | None = None


def organisations(selection: InputSelection, config: str | None) -> list[Organisation]:
    """The organisations in the inputs. Each is judged separately. Raises Misused."""
    if selection.each:
        return [*_of_each(selection)]
    declared = _declared(selection, config)
    if declared is None:
        return [Organisation(selection)]
    return [*_within(selection, declared)]


def _of_each(selection: InputSelection) -> Iterator[Organisation]:
    roots = [root for each in selection.each for root in expand(each) or [each]]
    for root in roots:
        if not os.path.lexists(root):
            raise Misused(f"--each {root}: no such file or folder")
    if selection.has_inputs:
        apart = replace(selection.exclusion, apart=frozenset(str(Path(root).absolute()) for root in roots))
        yield Organisation(replace(selection, each=(), exclusion=apart))
    for root in dict.fromkeys(roots):
        yield Organisation(InputSelection((root,), exclusion=selection.exclusion), root)


def _within(selection: InputSelection, declared: Sequence[Organisation]) -> Iterator[Organisation]:
    """The declared roots that contain an input or are in one, and an organisation with files outside of all roots."""
    names = [os.path.abspath(path) for path in selection.paths]  # noqa: PTH100, without `..`
    roots = {os.path.abspath(each.name): each for each in declared}  # noqa: PTH100
    without_root = [
        path
        for path, name in zip(selection.paths, names, strict=True)
        if os.path.isfile(path) and not any(_is_in(name, root) for root in roots)
    ]
    chosen = [each for root, each in roots.items() if any(_is_in(name, root) or _is_in(root, name) for name in names)]
    if without_root:
        yield Organisation(replace(selection, paths=tuple(without_root)))
    if not without_root and not chosen:
        raise Misused(f"{', '.join(selection.paths)}: contains no root of the configuration; name a path with one")
    yield from chosen


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _declared(selection: InputSelection, config: str | None) -> list[Organisation] | None:
    """The roots of the configuration file; None if it has none, or if not all inputs are files and folders."""
    if not selection.paths or selection.kustomizations or selection.charts or "-" in selection.paths:
        return None
    file = configuration_file(config, selection.places)
    if file is None:
        return None
    folder = os.path.dirname(os.path.abspath(file))  # noqa: PTH100, PTH120, without `..`
    declaring = _RootsFile(folder, selection.exclusion, trusted=named_configuration(config) is not None)
    return read_file(file, lambda manifest: _roots(manifest, declaring))


@dataclass(frozen=True, slots=True)
class _RootsFile:
    """A configuration file that declares roots.

    `exclusion`: the files to skip in all roots.
    `trusted`: whether the user has named the file. A file that was found may be part of a pull request.
    """

    folder: str
    exclusion: PathExclusion
    trusted: bool


def _roots(manifest: Mapping[str, Any], declaring: _RootsFile) -> list[Organisation] | None:
    """The organisations that the key `roots` declares; None without this key. Raises BadConfiguration."""
    top = Section(manifest, "")
    if manifest.get("roots") is None:
        return None
    found = [each for section in top.sections("roots") for each in _root(section, declaring)]
    if not found:
        raise BadConfiguration("names no root; leave it out", "roots")
    return found


def _root(section: Section, declaring: _RootsFile) -> Iterator[Organisation]:
    path, against = section.text("path"), section.optional("against")
    section.done()
    whole = os.path.normpath(os.path.join(declaring.folder, path))  # noqa: PTH118, an absolute path is refused below
    if not _is_in(whole, declaring.folder):
        raise BadConfiguration(f"{path} is not below the folder of this file", section.at("path"))
    found = expand(os.path.relpath(whole))
    if not found:
        raise BadConfiguration(f"{path}: no such file or folder", section.at("path"))
    for each in found:
        if not stays_below(each, declaring.folder):
            raise BadConfiguration(f"{path}: a link leads out of the folder of this file", section.at("path"))
    context = _against(against, declaring, section.at("against")) if against is not None else None
    for each in found:
        yield Organisation(InputSelection((each,), exclusion=declaring.exclusion), each, context)


def _against(text: str, declaring: _RootsFile, at: str) -> Against:
    """The context that a root names. Paths of folders and snapshots are relative to the configuration file.

    If the file is not trusted, it must not use a login of the user or make messages show files outside of its folder.
    """
    kind, colon, name = text.partition(":")
    if kind in ("files", "snapshot"):
        whole = os.path.join(declaring.folder, name)  # noqa: PTH118
        if not declaring.trusted and not stays_below(whole, declaring.folder):
            raise BadConfiguration(f"{name} is not below the folder of this file; {_TRUST}", at)
        name = os.path.relpath(whole)
    try:
        against = AgainstType().convert(f"{kind}{colon}{name}", None, None)
    except click.BadParameter as error:
        raise BadConfiguration(error.message, at) from error
    if against.kind == "cluster" and not declaring.trusted:
        raise BadConfiguration(f"a file that was found may not ask a cluster; {_TRUST}, or use --against", at)
    return against
