"""Reads the manifests of a text, with the place of every field."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from analysis.queue_config import VALUES_KEY, as_config_map, config_map_region, is_queue_config, of_values
from policies.dialects.reading import text as text_of
from policies.text import json_values, yaml_values
from policies.text.field_paths import Region
from policies.text.places import Steps
from policies.text.positions import BadText, DocumentRoot, Position, TextLines, TextSpan, position

MAX_SIZE = 64 * 2**20
"""The most bytes of a file. A snapshot of 10 000 queues has about 10 MiB."""
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""The byte order marks that begin a file in UTF-16."""


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """A place in a file. Lines and columns are counted from 1.

    overlay: the kustomization that makes the object from the file; empty if there is none.
    """

    file: str
    line: int
    column: int
    overlay: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Document:
    """A manifest, with the text from which it was read."""

    manifest: dict[str, Any]
    source: str
    """The normalized path of the file, or the name of standard input."""
    region: Region = field(repr=False, compare=False)
    overlay: str = ""

    def locate(self, field: str) -> Position:
        """Line and column of a field path in Kubernetes' spelling: `spec.groups[0].name`, `metadata.labels[a/b]`.

        It is the position of the value if that is a scalar, else of the key. For an absent field it is the position of
        its nearest ancestor, and for an empty path the start of the manifest.
        """
        return self.region.locate(field)

    def place(self, field: str = "") -> SourcePlace:
        return SourcePlace(self.source, *self.locate(field), self.overlay)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Input that cannot be read or judged. The message says why and, if there is a fix, what to do.

    well_formed: the text is valid YAML or JSON, but does not contain manifests.
    accepted: kubectl may read such a text.
    below: the file was found in a folder that the user named.
    """

    place: SourcePlace
    message: str
    well_formed: bool = field(default=False, repr=False, compare=False)
    accepted: bool = field(default=False, repr=False, compare=False)
    below: bool = field(default=False, repr=False, compare=False)

    def __str__(self) -> str:
        return f"{self.place}: unreadable: {self.message}"


def is_object(manifest: Mapping[str, Any]) -> bool:
    """Whether it has a kind or an apiVersion. Without both it is a file of another program."""
    return text_of(manifest.get("kind")) is not None or text_of(manifest.get("apiVersion")) is not None


def parse(source: str, data: bytes) -> Iterator[Document | Unreadable]:
    """Yield the manifests of a text. `source`: its name in places."""
    if len(data) > MAX_SIZE:
        message = f"larger than {MAX_SIZE // 2**20} MiB; split it into several files"
        yield Unreadable(SourcePlace(source, 1, 1), message, accepted=True)
        return
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        yield _not_utf8(source, data, error)
        return
    json_only = source.lower().endswith(".json")
    if json_only or text.lstrip().startswith("{"):
        roots = list(json_values.read_all(text))
        if json_only or isinstance(roots[-1], DocumentRoot):
            yield from _documents(source, text, roots, json_values.steps)
            return
    yield from _documents(source, text, yaml_values.read_shared(text), yaml_values.steps)


def _not_utf8(source: str, data: bytes, error: UnicodeDecodeError) -> Unreadable:
    if data.startswith(UTF_16):
        return Unreadable(SourcePlace(source, 1, 1), "this is UTF-16; save it as UTF-8", accepted=True)
    if data.startswith(b"\x1f\x8b"):
        return Unreadable(SourcePlace(source, 1, 1), "this is compressed; unpack it with gunzip")
    before = data[: error.start].decode()
    place = SourcePlace(source, *position(before + " ", len(before)))
    return Unreadable(place, f"the byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8")


def _documents(
    source: str, text: str, roots: Iterable[DocumentRoot | BadText], steps: Steps
) -> Iterator[Document | Unreadable]:
    lines, has_values = TextLines(text), VALUES_KEY in text
    for root in roots:
        if isinstance(root, BadText):
            yield Unreadable(SourcePlace(source, *lines.position(root.offset)), root.message, accepted=root.accepted)
        else:
            region = Region.of(text, steps, root.span, lines)
            yield from _flattened(source, root.value, region, root.items)
            if has_values and isinstance(root.value, dict):
                yield from (Document(made, source, within) for made, within in of_values(root.value, region))


def _flattened(source: str, value: Any, region: Region, spans: Sequence[TextSpan]) -> Iterator[Document | Unreadable]:
    """Yield the manifest, or the items of a List, also of nested Lists."""
    if not isinstance(value, dict):
        place = SourcePlace(source, *region.locate(""))
        yield Unreadable(
            place, f"{_named(value)} is given where a manifest is expected, which is a mapping", well_formed=True
        )
        return
    if is_queue_config(value):
        manifest, within = as_config_map(region)
        yield Document(manifest, source, within)
        return
    kind = value.get("kind")
    if not isinstance(kind, str) or not kind.endswith("List") or "items" not in value:
        yield Document(value, source, config_map_region(value, region))
        return
    items = value["items"] or []
    if not isinstance(items, list):
        place = SourcePlace(source, *region.locate("items"))
        yield Unreadable(place, f"`items` of a {kind} is {_named(items)}, not a list")
        return
    for index, item in enumerate(items):
        region = region.inside(spans[index]) if spans else region
        inner = region if spans else replace(region, within=f"{region.within}.items[{index}]".lstrip("."))
        yield from _flattened(source, _typed(item, value), inner, ())


def _typed(item: Any, around: dict[str, Any]) -> Any:
    """The item with the apiVersion and kind of its list, if it omits them, as items in API responses do."""
    kind = around["kind"].removesuffix("List")
    if not kind or not isinstance(item, dict):
        return item
    version = {"apiVersion": around["apiVersion"]} if "apiVersion" in around else {}
    return {**version, "kind": kind, **item}


def _named(value: Any) -> str:
    if isinstance(value, list):
        return "a list"
    return "a mapping" if isinstance(value, dict) else "nothing" if value is None else "a single value"
