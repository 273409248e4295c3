"""Renders folders with kustomize and charts with helm, and finds the source line of each field.

The programs are those that the user has installed, so that the judged manifests are those that would be applied.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from analysis.documents import MAX_SIZE, Document, SourcePlace, Unreadable, parse
from cli.exits import OutOfReach
from cli.input.documents import read as read_documents
from cli.input.external import programs
from cli.input.external.offline import fetched, has_own_schemas, helm_environment, kustomize_environment, linked_out
from cli.input.external.programs import ProgramFailed
from cli.input.folders import JUDGED
from cli.input.paths import joined_path, tidy
from cli.input.regular_file import mentions, read_regular
from cli.links import GIT, leads_out
from policies.dialects.reading import mapping, metadata, text
from policies.text import yaml_values
from policies.text.field_paths import Region
from policies.text.positions import BadText, Position

_ORIGIN = "config.kubernetes.io/origin"
_GENERATORS = "configMapGenerator"
_START = Position(1, 1)
_LONGEST_NAME = 253
"""The maximum length of a valid name."""
_WITH_ORIGINS = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nbuildMetadata: [originAnnotations]\n"
_SOURCE = re.compile(r"# Source: (.*)")
_KUSTOMIZE_IS_MISSING = (
    "--kustomize: neither kustomize nor kubectl is on the PATH; install one of them, or render elsewhere and pipe:"
    " kustomize build DIR | quotree validate -"
)
_HELM_IS_MISSING = (
    "--helm: helm is not on the PATH; install it, or render elsewhere and pipe:"
    " helm template CHART | quotree validate -"
)


def kustomize(folder: str) -> Iterator[Document | Unreadable]:
    """The manifests of a kustomization. The place of an object is in the file that its origin annotation names.

    A value that a patch sets has the place of the field in that file, not in the patch. References that would be
    downloaded are refused. Raises OutOfReach if kustomize is not installed.
    """
    program = programs.find("kustomize", "kubectl")
    if program is None:
        raise OutOfReach(_KUSTOMIZE_IS_MISSING)
    command = [program, "kustomize" if Path(program).name.startswith("kubectl") else "build"]
    if not os.path.isdir(folder):
        yield Unreadable(SourcePlace(folder, 1, 1), "no such folder")
        return
    if refused := list(fetched(folder)):
        yield from refused
        return
    with (
        _temporary() as around,
        _temporary() as empty,
    ):  # another kustomization includes the folder and adds the annotations, so that the folder is not changed
        inner = os.path.relpath(Path(folder).resolve(), around)
        (around / "kustomization.yaml").write_text(f"{_WITH_ORIGINS}resources:\n- {_quoted(inner)}\n", "utf-8")
        try:
            environment = kustomize_environment(str(empty))
            rendered = programs.run([*command, str(around)], environment=environment, most=MAX_SIZE)
        except ProgramFailed as failure:
            yield Unreadable(SourcePlace(folder, 1, 1), f"kustomize: {str(failure).replace(str(around), folder)}")
            return
        sources = _Sources()
        for document in parse(folder, rendered):
            yield _of_kustomize(document, around, sources, tidy(folder)) if isinstance(document, Document) else document


def helm(chart: str, values: Sequence[str] = ()) -> Iterator[Document | Unreadable]:
    """The manifests of a chart. The place of an object is in its template, which helm names in `# Source:`.

    `_Template.locate` finds the line. Links that lead out of the checkout are refused. Raises OutOfReach if helm is not
    installed.
    """
    program = programs.find("helm")
    if program is None:
        raise OutOfReach(_HELM_IS_MISSING)
    if refused := list(_refused(chart, values)):
        yield from refused
        return
    with _temporary() as around, _temporary() as empty:
        flags = [f"--values={file}" for file in values]
        if os.path.exists(chart) and not has_own_schemas(chart):
            flags.append("--skip-schema-validation")
        if any(mentions(each, JUDGED, MAX_SIZE) for each in Path(chart).rglob("crds/**/*.y*ml")):
            flags.append("--include-crds")  # helm installs all that is there, not only definitions
        offline = os.path.exists(chart) and not any("://" in file for file in values)
        command = [program, "template", *flags, "--", _without_git(chart, around)]
        try:
            rendered = programs.run(command, environment=helm_environment(str(empty), offline=offline), most=MAX_SIZE)
        except ProgramFailed as failure:
            yield Unreadable(SourcePlace(chart, 1, 1), f"helm: {str(failure).replace(str(around), chart)}")
            return
    lines = rendered.decode("utf-8", "replace").splitlines()
    for document in parse(chart, rendered):
        yield _of_helm(document, chart, lines) if isinstance(document, Document) else document


def _refused(chart: str, values: Sequence[str]) -> Iterator[Unreadable]:
    if os.path.isdir(chart):
        yield from linked_out(chart)
    for file in values:
        if real := leads_out(file):
            yield Unreadable(SourcePlace(file, 1, 1), f"a link leads out of the checkout, to {real}; name that file")


def _without_git(chart: str, around: Path) -> str:
    """The path of the chart without `.git`: templates can read any file of a chart, which may be a whole checkout.

    If there is a `.git`, the result is a temporary folder with links to everything else.
    """
    if not os.path.lexists(Path(chart, GIT)):
        return chart
    for entry in Path(chart).resolve().iterdir():
        if entry.name != GIT:
            (around / entry.name).symlink_to(entry)
    return str(around)


@contextmanager
def _temporary() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="quotree-") as made:
        yield Path(made).resolve()


def _quoted(path: str) -> str:
    return "'" + path.replace("'", "''") + "'"


@dataclass(frozen=True, slots=True)
class _Template(Region):
    """A manifest that helm rendered from a template, and the search for the source line of its fields.

    `rendered`: the lines of helm's output. `template`: the lines of the template. `kind`: the kind of the manifest.
    """

    rendered: Sequence[str] = ()
    template: Sequence[str] = ()
    kind: str = ""

    def locate(self, field: str) -> Position:
        """The place of a field in the template.

        It is the line that is the same in the output, otherwise the line with the same key, otherwise the line of the
        kind. A line only counts if there is exactly one.
        """
        line, column = Region.locate(self, field)
        made = self.rendered[line - 1]
        for wanted in (made.strip(), _key(made), f"kind: {self.kind}"):
            found = [at for at, each in enumerate(self.template, 1) if wanted and each.strip().startswith(wanted)]
            if len(found) == 1:
                shift = _indent(self.template[found[0] - 1]) - _indent(made)
                return Position(found[0], max(1, column + shift) if wanted in made else 1)
        return Position(1, 1)


@dataclass(frozen=True, slots=True)
class _Generated(Region):
    """A manifest that a kustomization makes. `at`: the place of its generator, which all its fields have."""

    at: Position = _START

    def locate(self, field: str) -> Position:  # noqa: ARG002, the generator has no places of its fields
        return self.at


def _key(line: str) -> str:
    """The `key:` of a line; empty if it has none."""
    key, colon, _ = line.strip().removeprefix("- ").partition(":")
    return key + colon if colon else ""


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


class _Sources:
    """The source files that kustomize names, each read once, with their documents by kind and name."""

    def __init__(self) -> None:
        self._read: dict[str, dict[tuple[str, str], Document]] = {}

    def find(self, file: str, manifest: Mapping[str, Any]) -> Document | None:
        """The document in the file that the manifest was rendered from.

        It has the same kind, and the longest name that is part of the manifest's name, since kustomize may add a prefix
        and a suffix. If there is none, it is the first document of this kind.
        """
        if file not in self._read:
            self._read[file] = _by_name(read_documents([file])[0] if os.path.isfile(file) else [])
        found, (kind, whole) = self._read[file], _kind_and_name(manifest)
        name = whole[:_LONGEST_NAME]  # a patch may write any name, and there are many parts of a long one
        parts = (
            name[start : start + size] for size in range(len(name), -1, -1) for start in range(len(name) - size + 1)
        )
        return next((found[kind, part] for part in parts if (kind, part) in found), None)


def _by_name(documents: Sequence[Document]) -> dict[tuple[str, str], Document]:
    found: dict[tuple[str, str], Document] = {}
    for document in documents:
        kind, name = _kind_and_name(document.manifest)
        found.setdefault((kind, name), document)
        found.setdefault((kind, ""), document)
    return found


def _kind_and_name(manifest: Mapping[str, Any]) -> tuple[str, str]:
    return text(manifest.get("kind")) or "", text(metadata(manifest).get("name")) or ""


def _of_kustomize(document: Document, around: Path, sources: _Sources, folder: str) -> Document:
    annotations = mapping(metadata(document.manifest).get("annotations"))
    try:
        origin = mapping(yaml_values.single(text(annotations.get(_ORIGIN)) or ""))
    except BadText:  # there is no origin annotation
        return document
    document = replace(document, manifest=_without_origin(document.manifest))
    path, maker = text(origin.get("path")), text(origin.get("configuredIn"))
    if not (path or maker) or "repo" in origin:  # the file of a remote base is not on this machine
        return document
    file = os.path.relpath(Path(os.path.normpath(around / (path or maker or ""))))
    if path is None:
        return _of_generator(document, file, folder)
    source = sources.find(file, document.manifest)
    if source is None:
        return document
    return replace(document, source=file, region=source.region, overlay=folder)


def _of_generator(document: Document, file: str, folder: str) -> Document:
    """The ConfigMap that a kustomization makes, with the place of its generator there."""
    found = read_documents([file])[0] if os.path.isfile(file) else []
    if not found:
        return document
    name, made = _kind_and_name(document.manifest)[1], found[0].manifest.get(_GENERATORS)
    entries = [text(mapping(each).get("name")) or "" for each in made] if isinstance(made, list) else []
    index = next((index for index, each in enumerate(entries) if each and each in name), 0)
    region = document.region
    at = found[0].locate(f"{_GENERATORS}[{index}].name")
    generated = _Generated(region.outline, region.lines, region.span, region.within, at)
    return replace(document, source=file, region=generated, overlay=folder)


def _without_origin(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest without the origin annotation, which only this module needs."""
    meta = metadata(manifest)
    annotations = {key: value for key, value in mapping(meta.get("annotations")).items() if key != _ORIGIN}
    rest = {key: value for key, value in meta.items() if key != "annotations"}
    return {**manifest, "metadata": {**rest, **({"annotations": annotations} if annotations else {})}}


def _of_helm(document: Document, chart: str, rendered: Sequence[str]) -> Document:
    line, _ = document.locate("")
    before = (_SOURCE.match(rendered[at]) for at in range(line - 1, -1, -1))
    named = next(filter(None, before), None)
    if named is None:
        return document
    file = joined_path(tidy(chart), named[1].strip().partition("/")[2])
    try:
        template = read_regular(file, MAX_SIZE)[0].decode("utf-8", "replace").splitlines()
    except (OSError, ValueError):  # such as for a packed chart
        template = []
    whole, kind = document.region, text(document.manifest.get("kind")) or ""
    region = _Template(whole.outline, whole.lines, whole.span, whole.within, rendered, template, kind)
    return replace(document, source=file, region=region)
