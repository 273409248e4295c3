"""Manifests from files, directories and standard input, with the place of every field."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from cli.input.links import leads_out
from cli.input.queue_config import as_config_map, is_queue_config, within_config_map
from cli.input.regular_file import other_kind, read_regular
from cli.output import note
from policies.text import json_values, yaml_values
from policies.text.field_paths import Region, Steps
from policies.text.positions import BadText, Lines, Position, Root, Span, position

MAX_SIZE = 64 * 2**20
"""Bytes of one file. A snapshot of 10 000 queues has about 10 MiB."""

STDIN = "<stdin>"
"""The name of standard input where the user gives it none."""
EXTENSIONS = (".yaml", ".yml", ".json")


@dataclass(frozen=True, slots=True)
class Place:
    """Lines and columns are counted from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Document:
    """One manifest: a mapping, and where it was read."""

    manifest: dict[str, Any]
    source: str
    """The file's name as the user wrote it, or that of standard input."""
    region: Region = field(repr=False, compare=False)

    def locate(self, field: str) -> Position:
        """Line and column of a field path in Kubernetes' spelling: `spec.groups[0].name`, `metadata.labels[a/b]`.

        That is the place of its value if it is a scalar, else of its key; where the field is absent, of its nearest
        ancestor; for "" the start of the manifest.
        """
        return self.region.locate(field)

    def place(self, field: str = "") -> Place:
        """The same, with the file."""
        return Place(self.source, *self.locate(field))


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Input that cannot be read or judged; the message says why and, where there is one, the cure."""

    place: Place
    message: str

    def __str__(self) -> str:
        return f"{self.place}: unreadable: {self.message}"


def read(
    paths: Sequence[str], stdin: TextIO | BinaryIO | None = None, stdin_name: str = STDIN
) -> tuple[list[Document], list[Unreadable]]:
    """All manifests of the files, of *.yaml, *.yml and *.json below the directories, and for "-" of standard input.

    A path may be a pattern. A file that is named twice is read once. An unreadable file does not keep the others from
    being read. A List is returned as its items. Empty documents are left out. What standard input holds is placed in
    the file `stdin_name`.
    """
    documents: list[Document] = []
    unreadable: list[Unreadable] = []
    for found in _read_all(paths, stdin, stdin_name):
        if isinstance(found, Document):
            documents.append(found)
        else:
            unreadable.append(found)
    return documents, unreadable


def expand(path: str) -> list[str]:
    """The path itself, or what a pattern (`*`, `?`, `[a-z]`, `**` for any depth) matches, in the order of the names.

    Of files it matches only manifests. Empty where nothing is there; a path that exists is never a pattern.
    """
    if os.path.lexists(path):
        return [path]
    if "\0" in path or not glob.has_magic(path):
        return []
    found = sorted(glob.glob(path, recursive=True))  # noqa: PTH207, Path knows no absolute patterns
    return [each for each in found if each.lower().endswith(EXTENSIONS) or Path(each).is_dir()]


def _read_all(
    paths: Sequence[str], stdin: TextIO | BinaryIO | None, stdin_name: str
) -> Iterator[Document | Unreadable]:
    files: set[tuple[int, int]] = set()
    for path in paths:
        if path == "-":
            yield from _read_standard_input(stdin, stdin_name)
            continue
        for source in _matching(path):
            yield from [source] if isinstance(source, Unreadable) else _read_file(source, files)


def _matching(path: str) -> Iterator[str | Unreadable]:
    found = expand(path)
    if not found and glob.has_magic(path):
        yield Unreadable(Place(path, 1, 1), "no manifest matches this pattern")
        return
    for each in found or [path]:
        yield from _files(each)


def passed_over(path: str) -> bool:
    """A pipe, a socket or a device among the files of a folder; it is reported."""
    try:
        kind = other_kind(path)
    except OSError:
        return False  # reading it says why
    if kind:
        note(f"{path}: passed over: it is {kind}, not a file")
    return bool(kind)


def _files(path: str) -> Iterator[str | Unreadable]:
    """The path itself, or the manifests below it in the order of their names, without hidden directories."""
    if not Path(path).is_dir():
        yield path
        return
    failures: list[OSError] = []
    for directory, inner, names in os.walk(path, onerror=failures.append):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        for name in sorted(names):
            path = f"{directory.rstrip('/')}/{name}"
            if name.lower().endswith(EXTENSIONS) and not passed_over(path):
                yield path
    for failure in failures:
        yield _failed(str(failure.filename), failure)


def _read_file(source: str, files: set[tuple[int, int]]) -> Iterator[Document | Unreadable]:
    try:
        if real := leads_out(source):  # else a pull request could show any file of the machine
            raise OSError(0, f"a link leads out of the checkout, to {real}; name that file")
        data, status = read_regular(source, MAX_SIZE + 1)
        identity = (status.st_dev, status.st_ino)
        if identity in files:
            return
        files.add(identity)
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        yield _failed(source, error)
        return
    yield from parse(source, data)


def _read_standard_input(stdin: TextIO | BinaryIO | None, name: str) -> Iterator[Document | Unreadable]:
    if stdin is None:
        yield Unreadable(Place(name, 1, 1), "there is no standard input to read")
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
        if json_only or isinstance(root, Root):
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
    source: str, text: str, roots: Iterable[Root | BadText], steps: Steps
) -> Iterator[Document | Unreadable]:
    lines = Lines(text)
    for root in roots:
        if isinstance(root, BadText):
            yield Unreadable(Place(source, *lines.position(root.offset)), root.message)
        else:
            yield from _flattened(source, root.value, Region.of(text, steps, root.span, lines), root.items)


def _flattened(source: str, value: Any, region: Region, spans: Sequence[Span]) -> Iterator[Document | Unreadable]:
    """The manifest; of a List its items, at any depth of Lists."""
    if not isinstance(value, dict):
        place = Place(source, *region.locate(""))
        yield Unreadable(place, f"{_named(value)} stands where a manifest is expected, a mapping")
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
