"""Manifests from files, directories and standard input, with the place of every field."""

from __future__ import annotations

import errno
import glob
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, TextIO, TypeAlias

from cli.input.folders import EXTENSIONS, Folder, PassedOver, PassedOverReason, is_ours, look, may_hold_objects
from cli.input.paths import tidy
from cli.input.placeholders import TEXT, has_placeholder
from cli.input.queue_config import QueuesRegion, as_config_map, is_queue_config, names_queues, within_config_map
from cli.input.regular_file import other_kind, read_regular
from cli.links import leads_out
from cli.output import note
from cli.progress import counted
from policies.dialects.reading import text as text_of
from policies.text import json_values, yaml_values
from policies.text.field_paths import Region, Steps
from policies.text.positions import BadText, DocumentRoot, Position, TextLines, TextSpan, position

MAX_SIZE = 64 * 2**20
"""Bytes of one file. A snapshot of 10 000 queues has about 10 MiB."""

STDIN = "<stdin>"
"""The name of standard input where the user gives it none."""
_NOT_HERE = (errno.ENOENT, errno.ELOOP)


@dataclass(frozen=True, slots=True)
class Place:
    """Lines and columns are counted from 1. `overlay` is the kustomization that makes the object of the file, or ""."""

    file: str
    line: int
    column: int
    overlay: str = field(default="", compare=False)

    def __str__(self) -> str:
        """FILE:LINE:COLUMN. A file whose name begins with `::` gets a `./`: GitHub's runner reads `::` as a command."""
        file = f"./{self.file}" if self.file.lstrip().startswith("::") else self.file
        return f"{file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Document:
    """One manifest: a mapping, and where it was read."""

    manifest: dict[str, Any]
    source: str
    """The file's tidy path from where the user named it, or the name of standard input."""
    region: Region = field(repr=False, compare=False)
    overlay: str = ""

    def locate(self, field: str) -> Position:
        """Line and column of a field path in Kubernetes' spelling: `spec.groups[0].name`, `metadata.labels[a/b]`.

        That is the place of its value if it is a scalar, else of its key; where the field is absent, of its nearest
        ancestor; for "" the start of the manifest.
        """
        return self.region.locate(field)

    def place(self, field: str = "") -> Place:
        """The same, with the file."""
        return Place(self.source, *self.locate(field), self.overlay)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Input that cannot be read or judged; the message says why and, where there is one, the cure.

    `well_formed`: the text itself is sound, but it does not hold manifests. `below`: the file lies in a folder that was
    named; nobody named the file.
    """

    place: Place
    message: str
    well_formed: bool = field(default=False, repr=False, compare=False)
    below: bool = field(default=False, repr=False, compare=False)

    def __str__(self) -> str:
        return f"{self.place}: unreadable: {self.message}"


Found: TypeAlias = Document | Unreadable | PassedOver


def read(
    paths: Sequence[str], stdin: TextIO | BinaryIO | None = None, stdin_name: str = STDIN
) -> tuple[list[Document], list[Unreadable]]:
    """All manifests of the files, of *.yaml, *.yml and *.json below the directories, and for "-" of standard input.

    A path may be a pattern. A file that is named twice is read once. An unreadable file does not keep the others from
    being read. One in a folder that is unrelated to quota is passed over, as are charts and patches. A List is
    returned as its items. Empty documents are left out. What standard input holds is placed in the file `stdin_name`.
    """
    found = list(counted(_read_all(paths, stdin, stdin_name), "reading files"))
    return [each for each in found if isinstance(each, Document)], [it for it in found if isinstance(it, Unreadable)]


def expand(path: str) -> list[str]:
    """The path itself, or what a pattern (`*`, `?`, `[a-z]`, `**` for any depth) matches, in the order of the names.

    All are tidy. A pattern matches folders and manifests. Empty without a match; an existing path is not a pattern.
    """
    if os.path.lexists(path):
        return [tidy(path)]
    if "\0" in path or not glob.has_magic(path):
        return []
    found = sorted(glob.glob(path, recursive=True))  # noqa: PTH207, Path knows no absolute patterns
    return [tidy(each) for each in found if each.lower().endswith(EXTENSIONS) or Path(each).is_dir()]


def _read_all(paths: Sequence[str], stdin: TextIO | BinaryIO | None, stdin_name: str) -> Iterator[Found]:
    files = Files()
    for path in paths:
        if path == "-":
            yield from standard_input(stdin, stdin_name)
            continue
        for source in matching(path):
            if isinstance(source, Unreadable):
                yield source
            elif not Path(source).is_dir():
                yield from files.named(source)
            else:
                yield from files.below(look(source))


def matching(path: str) -> Iterator[str | Unreadable]:
    """The files and folders that a path or pattern names."""
    found = expand(path)
    if not found and glob.has_magic(path):
        yield Unreadable(Place(path, 1, 1), "no manifest matches this pattern")
        return
    yield from found or [path]


def passed_over(path: str) -> bool:
    """A pipe, a socket or a device among the files of a folder; it is reported."""
    try:
        kind = other_kind(path)
    except OSError:
        return False  # reading it says why
    if kind:
        note(f"{path}: passed over: it is {kind}, not a file")
    return bool(kind)


class Files:
    """Reads each file once, however it is named."""

    def __init__(self) -> None:
        self._read: set[tuple[int, int]] = set()

    def named(self, source: str) -> Iterator[Document | Unreadable]:
        """The manifests of a file that the user names: it must be readable."""
        try:
            data = self._data(source)
        except (OSError, ValueError) as error:  # ValueError: a name that no file can have
            yield _failed(source, error)
            return
        if data is not None:
            yield from parse(source, data)

    def below(self, folder: Folder) -> Iterator[Found]:
        """The same for the files of a folder: only a file that mentions our projects must be readable."""
        yield from folder.passed
        for source in folder.files:
            yield from self.found(source)
        for failure in folder.failures:
            yield _failed(tidy(str(failure.filename)), failure)

    def found(self, source: str) -> Iterator[Found]:
        if passed_over(source):
            return
        for each in self._found(source):
            yield replace(each, below=True) if isinstance(each, Unreadable) else each

    def _found(self, source: str) -> Iterator[Found]:
        try:
            data = self._data(source)
        except OSError as error:
            yield PassedOver(source, PassedOverReason.NO_FILE) if error.errno in _NOT_HERE else _failed(source, error)
            return
        if data is not None:
            yield from triaged(source, data)

    def _data(self, source: str) -> bytes | None:
        """None where it was read before. Raises OSError and ValueError."""
        if real := leads_out(source):  # else a pull request could show any file of the machine
            raise OSError(0, f"a link leads out of the checkout, to {real}; name that file")
        data, status = read_regular(source, MAX_SIZE + 1)
        identity = (status.st_dev, status.st_ino)
        if identity in self._read:
            return None
        self._read.add(identity)
        return data


def triaged(source: str, data: bytes) -> Iterator[Found]:
    """The manifests of a file that lies in a folder, or why it is passed over.

    A text without objects is not even parsed. What cannot be read is an error only where it mentions one of the
    projects and is not a template.
    """
    if not may_hold_objects(data):
        yield PassedOver(source, PassedOverReason.NO_MANIFEST)
        return
    template = TEXT.search(data) is not None
    for found in parse(source, data):
        if isinstance(found, Unreadable):
            yield _unreadable(found, data, template)
        elif template and has_placeholder(found.manifest):
            yield PassedOver(source, PassedOverReason.TEMPLATE)
        elif is_object(found.manifest) and (not isinstance(found.region, QueuesRegion) or names_queues(found.region)):
            yield found
        else:
            yield PassedOver(source, PassedOverReason.NO_MANIFEST)


def _unreadable(found: Unreadable, data: bytes, template: bool) -> Unreadable | PassedOver:
    if found.well_formed:
        return PassedOver(found.place.file, PassedOverReason.NO_MANIFEST)
    if template:
        return PassedOver(found.place.file, PassedOverReason.TEMPLATE)
    return found if is_ours(data) else PassedOver(found.place.file, PassedOverReason.BROKEN)


def is_object(manifest: Mapping[str, Any]) -> bool:
    """Whether it has a kind or a version; without either it is a file of another program."""
    return text_of(manifest.get("kind")) is not None or text_of(manifest.get("apiVersion")) is not None


def standard_input(stdin: TextIO | BinaryIO | None, name: str) -> Iterator[Document | Unreadable]:
    if stdin is None:
        yield Unreadable(Place(name, 1, 1), "standard input is closed")
        return
    stream: Any = getattr(stdin, "buffer", stdin)
    try:
        data = stream.read(MAX_SIZE + 1)
    except (OSError, ValueError) as error:  # ValueError: closed, or not text in the stream's encoding
        yield _failed(name, error)
        return
    yield from parse(name, data.encode() if isinstance(data, str) else data)


def _failed(source: str, error: Exception) -> Unreadable:
    reason = getattr(error, "strerror", None) or str(error)
    if "\0" in source:  # each Python says it in its own words
        reason = "the name of a file cannot have a null character"
    return Unreadable(Place(source, 1, 1), f"cannot be read: {reason}")


def parse(source: str, data: bytes) -> Iterator[Document | Unreadable]:
    """The manifests of one text, which `source` names in places."""
    if len(data) > MAX_SIZE:
        yield Unreadable(Place(source, 1, 1), f"larger than {MAX_SIZE // 2**20} MiB; split it into several files")
        return
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        yield _not_utf8(source, data, error)
        return
    json_only = source.lower().endswith(".json")
    if json_only or text.lstrip().startswith("{"):
        root = json_values.read(text)
        if json_only or isinstance(root, DocumentRoot):
            yield from _documents(source, text, [root], json_values.steps)
            return
    yield from _documents(source, text, yaml_values.read_shared(text), yaml_values.steps)


def _not_utf8(source: str, data: bytes, error: UnicodeDecodeError) -> Unreadable:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return Unreadable(Place(source, 1, 1), "this is UTF-16; save it as UTF-8")
    before = data[: error.start].decode()
    place = Place(source, *position(before + " ", len(before)))
    return Unreadable(place, f"the byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8")


def _documents(
    source: str, text: str, roots: Iterable[DocumentRoot | BadText], steps: Steps
) -> Iterator[Document | Unreadable]:
    lines = TextLines(text)
    for root in roots:
        if isinstance(root, BadText):
            yield Unreadable(Place(source, *lines.position(root.offset)), root.message)
        else:
            yield from _flattened(source, root.value, Region.of(text, steps, root.span, lines), root.items)


def _flattened(source: str, value: Any, region: Region, spans: Sequence[TextSpan]) -> Iterator[Document | Unreadable]:
    """The manifest; of a List its items, at any depth of Lists."""
    if not isinstance(value, dict):
        place = Place(source, *region.locate(""))
        yield Unreadable(place, f"{_named(value)} stands where a manifest is expected, a mapping", well_formed=True)
        return
    if is_queue_config(value):
        manifest, within = as_config_map(region)
        yield Document(manifest, source, within)
        return
    kind = value.get("kind")
    if not isinstance(kind, str) or not kind.endswith("List") or "items" not in value:
        yield Document(value, source, within_config_map(value, region))
        return
    items = value["items"] or []
    if not isinstance(items, list):
        place = Place(source, *region.locate("items"))
        yield Unreadable(place, f"`items` of a {kind} is {_named(items)}, not a list")
        return
    for index, item in enumerate(items):
        region = region.inside(spans[index]) if spans else region
        inner = region if spans else replace(region, within=f"{region.within}.items[{index}]".lstrip("."))
        yield from _flattened(source, _typed(item, value), inner, ())


def _typed(item: Any, around: dict[str, Any]) -> Any:
    """An item of a QueueList may omit its version and kind, as in the API server's answers."""
    kind = around["kind"].removesuffix("List")
    if not kind or not isinstance(item, dict):
        return item
    version = {"apiVersion": around["apiVersion"]} if "apiVersion" in around else {}
    return {**version, "kind": kind, **item}


def _named(value: Any) -> str:
    if isinstance(value, list):
        return "a list"
    return "a mapping" if isinstance(value, dict) else "nothing" if value is None else "a single value"
