"""Manifests from files, directories and standard input."""

from __future__ import annotations

import errno
import glob
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, BinaryIO, TextIO, TypeAlias

from analysis.documents import MAX_SIZE, UTF_16, Document, SourcePlace, Unreadable, is_object, parse
from analysis.inputs import InputObjects, identify
from analysis.queue_config import QueuesFileRegion, has_queues
from cli.input.folders import EXTENSIONS, JUDGED, Folder, PassedOver, PassedOverReason, is_ours, look, may_hold_objects
from cli.input.paths import tidy
from cli.input.placeholders import MAY_HAVE, TEXT, carried_objects, has_placeholder, hidden_kinds, hidden_object
from cli.input.regular_file import other_kind, read_regular
from cli.links import leads_out
from cli.output import note
from cli.progress import counted

STDIN = "<stdin>"
"""The name of standard input, unless the user names a file for it."""
_NOT_HERE = (errno.ENOENT, errno.ELOOP)
Found: TypeAlias = Document | Unreadable | PassedOver


def read(
    paths: Sequence[str], stdin: TextIO | BinaryIO | None = None, stdin_name: str = STDIN
) -> tuple[list[Document], list[Unreadable]]:
    """The manifests of files, of *.yaml, *.yml and *.json files below folders, and of standard input ("-").

    A path may be a pattern. A file that is named twice is read once. If a file is unreadable, the others are still
    read. In a folder, unreadable files that are unrelated to quota are skipped, and so are charts and patches. A List
    is returned as its items. Empty documents are left out. Manifests of standard input get `stdin_name` as their file.
    """
    found = list(counted(_read_all(paths, stdin, stdin_name), "reading files"))
    return [each for each in found if isinstance(each, Document)], [it for it in found if isinstance(it, Unreadable)]


def expand(path: str) -> list[str]:
    """The path itself if it exists; otherwise the folders and manifest files that it matches as a pattern, sorted.

    Patterns use `*`, `?`, `[a-z]`, and `**` for any depth. The result is empty if nothing matches.
    """
    if os.path.lexists(path):
        return [tidy(path)]
    if "\0" in path or not glob.has_magic(path):
        return []
    found = sorted(glob.glob(path, recursive=True))  # noqa: PTH207, Path knows no absolute patterns
    return [tidy(each) for each in found if each.lower().endswith(EXTENSIONS) or os.path.isdir(each)]


def _read_all(paths: Sequence[str], stdin: TextIO | BinaryIO | None, stdin_name: str) -> Iterator[Found]:
    files = Files()
    for path in paths:
        if path == "-":
            yield from standard_input(stdin, stdin_name)
            continue
        for source in matching(path):
            if isinstance(source, Unreadable):
                yield source
            elif not os.path.isdir(source):
                yield from files.named(source)
            else:
                yield from files.below(look(source))


def matching(path: str) -> Iterator[str | Unreadable]:
    """The files and folders that a path or pattern names."""
    found = expand(path)
    if not found and glob.has_magic(path):
        yield Unreadable(SourcePlace(path, 1, 1), "no manifest matches this pattern")
        return
    yield from found or [path]


def passed_over(path: str) -> bool:
    """Whether the path is a pipe, a socket or a device, which is skipped. Notes that on standard error."""
    try:
        kind = other_kind(path)
    except OSError:
        return False  # reading it later reports the error
    if kind:
        note(f"{path}: skipped: it is {kind}, not a file")
    return bool(kind)


class Files:
    """Reads each file once, even if it is named twice. A link counts as a file: each of two folders may have one."""

    def __init__(self) -> None:
        self._read: set[str] = set()

    def named(self, source: str) -> Iterator[Document | Unreadable]:
        """The manifests of a file that the user names. Such a file must be readable."""
        try:
            data = self._data(source)
        except (OSError, ValueError) as error:  # ValueError: a name that no file can have
            yield _failed(source, error)
            return
        if data is not None:
            yield from parse(source, data)

    def below(self, folder: Folder) -> Iterator[Found]:
        """The manifests in a folder. Only files that mention one of the three projects must be readable."""
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
        """The content of the file; None if it was read before. Raises OSError and ValueError."""
        if real := leads_out(source):  # otherwise a pull request could make the output show any file of the machine
            raise OSError(0, f"a link leads out of the checkout, to {real}; name that file")
        data, _ = read_regular(source, MAX_SIZE + 1)
        folder, name = os.path.split(source)
        identity = os.path.join(os.path.realpath(folder), name)  # noqa: PTH118, for many files
        if identity in self._read:
            return None
        self._read.add(identity)
        return data


def triaged(source: str, data: bytes) -> Iterator[Found]:
    """The manifests of a file in a folder, or the reason why it is skipped.

    A text that cannot contain objects is not parsed. An unreadable file is only an error if it mentions one of the
    three projects and is not a template. A text that kubectl may read does not count as a template.
    """
    if not source.lower().endswith(EXTENSIONS):
        yield PassedOver(source, PassedOverReason.TEMPLATE, hidden_kinds(data))
        return
    searched = data.decode("utf-16", "replace").encode() if data.startswith(UTF_16) else data
    if not may_hold_objects(searched):
        yield PassedOver(source, PassedOverReason.NO_MANIFEST)
        return
    may_be_template = MAY_HAVE.search(data) is not None
    for found in parse(source, data):
        if isinstance(found, Unreadable):
            yield _unreadable(found, searched)
        elif may_be_template and has_placeholder(found.manifest):
            hides = hidden_object(found.manifest) | carried_objects(found.manifest)
            yield PassedOver(source, PassedOverReason.TEMPLATE, hides)
        elif is_object(found.manifest) and (not isinstance(found.region, QueuesFileRegion) or has_queues(found.region)):
            yield found
        else:
            yield PassedOver(source, PassedOverReason.NO_MANIFEST)


def _unreadable(found: Unreadable, data: bytes) -> Unreadable | PassedOver:
    if found.well_formed:
        return PassedOver(found.place.file, PassedOverReason.NO_MANIFEST)
    if TEXT.search(data) and not (found.accepted and JUDGED.search(data)):
        return PassedOver(found.place.file, PassedOverReason.TEMPLATE, hidden_kinds(data))
    return found if is_ours(data) else PassedOver(found.place.file, PassedOverReason.BROKEN)


def standard_input(stdin: TextIO | BinaryIO | None, name: str) -> Iterator[Document | Unreadable]:
    if stdin is None:
        yield Unreadable(SourcePlace(name, 1, 1), "standard input is closed")
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
    if "\0" in source:  # the message differs between versions of Python
        reason = "the name of a file cannot have a null character"
    return Unreadable(SourcePlace(source, 1, 1), f"cannot be read: {reason}")


def gather(paths: Sequence[str]) -> InputObjects:
    """The objects in the paths; `-` is standard input. Notes objects that occur twice on standard error."""
    return noted(identify(*read(paths, sys.stdin)))


def noted(inputs: InputObjects) -> InputObjects:
    """Note objects that occur twice with different content on standard error, and return the inputs.

    Only the first of such objects is used. `quotree validate` reports the others as findings.
    """
    twice = [each for each in inputs.repeated if not each.equal]
    if twice:
        rest = "is 1 more object" if len(twice) == 2 else f"are {len(twice) - 1} more objects"
        more = f"; so {rest}, which `quotree validate` lists" if len(twice) > 1 else ""
        note(f"{twice[0].second.place()}: {twice[0]}; the first is used{more}")
    return inputs
