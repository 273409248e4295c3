"""What kustomize and helm make of folders and charts, with places in the files that they made it of.

Both are the user's own programs, so that what is judged is what would be applied.
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
from cli.input.paths import joined_path, tidy
from cli.input.regular_file import read_regular
from cli.links import GIT, leads_out
from policies.dialects.reading import mapping, metadata, text
from policies.text import yaml_values
from policies.text.field_paths import Region
from policies.text.positions import BadText, Position

_ORIGIN = "config.kubernetes.io/origin"
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
    """The manifests of a kustomization. An object is placed in the file that its origin annotation names.

    A value that a patch sets has the place of the field in that file. What would be fetched is refused. Raises
    OutOfReach where no kustomize is installed.
    """
    program = programs.find("kustomize", "kubectl")
    if program is None:
        raise OutOfReach(_KUSTOMIZE_IS_MISSING)
    command = [program, "kustomize" if Path(program).name.startswith("kubectl") else "build"]
    if not Path(folder).is_dir():
        yield Unreadable(SourcePlace(folder, 1, 1), "no such folder")
        return
    if refused := list(fetched(folder)):
        yield from refused
        return
    with (
        _temporary() as around,
        _temporary() as empty,
    ):  # asks for the annotations in place of the folder, which stays as it is
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
    """The manifests of a chart. An object is placed in its template, as `# Source:` names it.

    Its line is the one that was copied from the template as it is, else that of its kind. Links that lead out are
    refused. Raises OutOfReach where helm is not installed.
    """
    program = programs.find("helm")
    if program is None:
        raise OutOfReach(_HELM_IS_MISSING)
    if refused := list(_refused(chart, values)):
        yield from refused
        return
    with _temporary() as around, _temporary() as empty:
        flags = [f"--values={file}" for file in values]
        if Path(chart).exists() and not has_own_schemas(chart):
            flags.append("--skip-schema-validation")
        offline = Path(chart).exists() and not any("://" in file for file in values)
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
    if Path(chart).is_dir():
        yield from linked_out(chart)
    for file in values:
        if real := leads_out(file):
            yield Unreadable(SourcePlace(file, 1, 1), f"a link leads out of the checkout, to {real}; name that file")


def _without_git(chart: str, around: Path) -> str:
    """The chart, or links to all of it but `.git`: it may be a whole checkout, and templates read any file of it."""
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
    """The path as a quoted YAML scalar."""
    return "'" + path.replace("'", "''") + "'"


@dataclass(frozen=True, slots=True)
class _Template(Region):
    """A manifest that helm made of a template: its fields are looked for there, line by line."""

    rendered: Sequence[str] = ()
    template: Sequence[str] = ()
    kind: str = ""

    def locate(self, field: str) -> Position:
        """The one line that helm copied as it is, else the one line with this key, else that of the kind."""
        line, column = Region.locate(self, field)
        made = self.rendered[line - 1]
        for wanted in (made.strip(), _key(made), f"kind: {self.kind}"):
            found = [at for at, each in enumerate(self.template, 1) if wanted and each.strip().startswith(wanted)]
            if len(found) == 1:
                shift = _indent(self.template[found[0] - 1]) - _indent(made)
                return Position(found[0], max(1, column + shift) if wanted in made else 1)
        return Position(1, 1)


def _key(line: str) -> str:
    """`key:` of a line, without its value."""
    key, colon, _ = line.strip().removeprefix("- ").partition(":")
    return key + colon if colon else ""


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


class _Sources:
    """The files that kustomize names, each read once; their documents by kind and name."""

    def __init__(self) -> None:
        self._read: dict[str, dict[tuple[str, str], Document]] = {}

    def find(self, file: str, manifest: Mapping[str, Any]) -> Document | None:
        """The document that the manifest was made of: of its kind, and of a name that a prefix or suffix leaves in.

        Without one of such a name the first of its kind.
        """
        if file not in self._read:
            self._read[file] = _by_name(read_documents([file])[0] if Path(file).is_file() else [])
        found, (kind, name) = self._read[file], _kind_and_name(manifest)
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
    except BadText:  # there is none
        return document
    document = replace(document, manifest=_without_origin(document.manifest))
    path = text(origin.get("path"))
    if path is None or "repo" in origin:  # of a remote base there is no file here
        return document
    file = os.path.relpath(Path(os.path.normpath(around / path)))
    source = sources.find(file, document.manifest)
    if source is None:
        return document
    return replace(document, source=file, region=source.region, overlay=folder)


def _without_origin(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest without the annotation that was added here to find its origin."""
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
    except (OSError, ValueError):  # a packed chart has no such file
        template = []
    whole, kind = document.region, text(document.manifest.get("kind")) or ""
    region = _Template(whole.outline, whole.lines, whole.span, whole.within, rendered, template, kind)
    return replace(document, source=file, region=region)
