"""Reads suites for `quotree test`: changes, and the findings that they should have with a configuration.

A suite is a list of cases. docs/testing-your-configuration.md describes the format.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

from analysis.documents import MAX_SIZE, SourcePlace
from cli.input.documents import passed_over
from cli.input.documents import read as read_documents
from cli.input.regular_file import read_regular
from cli.input.settings import settings
from cli.links import enclosing, leads_out, stays_below
from policies import dialects
from policies.configuration.file import API_VERSION, KIND, read_configuration
from policies.configuration.settings import Configuration
from policies.dialects.reading import Parsed
from policies.model.errors import PolicyError, UnknownRule
from policies.model.findings import Profile, Severity
from policies.model.objects import Ref
from policies.model.suggestion import suggest
from policies.rules import find, registry
from policies.text import yaml_values
from policies.text.field_paths import Region
from policies.text.positions import BadText, DocumentRoot, TextLines, position

_CASE = ("name", "given", "apply", "delete", "profile", "configuration", "now", "findings")
_FINDING = ("rule", "object", "field", "severity", "says")


class BadSuite(Exception):
    """A suite is not valid. The message gives the reason and the fix."""

    def __init__(self, place: SourcePlace, message: str):
        super().__init__(message)
        self.place = place
        self.message = message


@dataclass(frozen=True, slots=True)
class Expected:
    """A finding that a case expects. An empty field matches anything. `says`: a part of the message or the fix."""

    rule: str
    severity: Severity
    object: str = ""
    field: str = ""
    says: str = ""


@dataclass(frozen=True, slots=True)
class SuiteCase:
    """A case of a suite.

    `name`: a sentence that should hold.
    `existing`: the objects before the change.
    `apply`, `delete`: the objects that the change applies and deletes.
    `now`: the time at which the change is judged; None if the case does not set it.
    `expected`: the expected findings.
    """

    name: str
    place: SourcePlace
    existing: tuple[Parsed, ...]
    apply: tuple[Parsed, ...]
    delete: tuple[Parsed, ...]
    configuration: Configuration
    now: datetime | None
    expected: tuple[Expected, ...]


@dataclass(frozen=True, slots=True)
class File:
    """A file to read. `named`: the command line names it. Files of folders are skipped unless they contain a list."""

    path: Path
    named: bool


def files(paths: Iterable[str]) -> Iterable[File]:
    """The files of these paths, each once.

    For a folder: all *.yaml and *.yml files below it that are not hidden, sorted.
    """
    found: dict[str, File] = {}
    for each in _files(paths):
        real = os.path.realpath(each.path)
        if each.named or real not in found:
            found[real] = each
    return found.values()


def _files(paths: Iterable[str]) -> Iterator[File]:
    for path in map(Path, paths):
        if not os.path.isdir(path):
            yield File(path, named=True)
            continue
        for file in sorted(path.rglob("*.y*ml")):
            hidden = any(part.startswith(".") for part in file.relative_to(path).parts)
            if file.suffix in (".yaml", ".yml") and not hidden and not file.is_dir() and not passed_over(str(file)):
                yield File(file, named=False)


def read(file: File, config: str | None) -> list[SuiteCase]:
    """The cases of one file. Raises BadSuite, or Misused for an invalid configuration."""
    text = _text_of(file.path)
    roots = list(yaml_values.read(text))
    for bad in roots:
        if isinstance(bad, BadText):
            raise BadSuite(SourcePlace(str(file.path), *position(text, bad.offset)), bad.message)
    lists = [root for root in roots if isinstance(root, DocumentRoot) and isinstance(root.value, list)]
    if not lists and not file.named:
        return []
    if not lists or len(roots) > 1:
        raise BadSuite(SourcePlace(str(file.path), 1, 1), "a suite is one document, a list of cases (- name: ...)")
    (root,) = lists
    region = Region.of(text, yaml_values.steps, root.span, TextLines(text))
    return list(_Reader(file.path, root.value, config).cases(region))


def _text_of(file: Path) -> str:
    place = SourcePlace(str(file), 1, 1)
    try:
        if real := leads_out(file):
            raise OSError(0, f"a link leads out of the checkout, to {real}; name that file")
        data, _ = read_regular(file, MAX_SIZE + 1)
        if len(data) > MAX_SIZE:
            raise BadSuite(place, f"larger than {MAX_SIZE // 2**20} MiB; split it into several files")
        return data.decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise BadSuite(place, f"cannot be read: {getattr(error, 'strerror', None) or error}") from error


@dataclass(slots=True)
class _Reader:
    """Reads the cases of one file. Each file that the cases refer to is read once."""

    file: Path
    value: list[Any]
    config: str | None
    objects: dict[str, tuple[Parsed, ...]] = field(default_factory=dict)
    configurations: dict[str | None, Configuration] = field(default_factory=dict)

    def cases(self, region: Region) -> Iterator[SuiteCase]:
        names: set[str] = set()
        for i, value in enumerate(self.value):
            step = _Step(self.file, region, f"[{i}]")
            case = self._case(step, _mapping(step, value, _CASE))
            if case.name in names:
                raise step.at("name").bad(f"a second case is named {case.name!r}; give each its own name")
            names.add(case.name)
            yield case

    def _case(self, step: _Step, value: Mapping[str, Any]) -> SuiteCase:
        name = _text(step.at("name"), value.get("name"))
        if not name:
            raise step.bad("a case needs a name: what holds, as a sentence")
        if "findings" not in value:
            raise step.bad("a case needs its findings; write [] for none")
        return SuiteCase(
            name=name,
            place=step.place(),
            existing=self._objects(step.at("given"), value.get("given"), once=False),
            apply=self._objects(step.at("apply"), value.get("apply"), once=True),
            delete=self._objects(step.at("delete"), value.get("delete"), once=True),
            configuration=self._configuration(step, value),
            now=_day(step.at("now"), value.get("now")),
            expected=tuple(_expected(at, item) for at, item in _items(step.at("findings"), value["findings"])),
        )

    def _objects(self, step: _Step, value: object, *, once: bool) -> tuple[Parsed, ...]:
        """The objects of a list of manifests and paths. If an object occurs twice, the last one counts.

        `once`: refuse this instead, since a change cannot apply or delete an object twice.
        """
        found: dict[Ref, Parsed] = {}
        for at, item in _items(step, value):
            for each in self._of_file(at, item) if isinstance(item, str) else [_object(at, item)]:
                ref = each.object.ref
                if once and ref in found:
                    raise at.bad(f"{ref} occurs twice here; keep one of the two")
                found[ref] = each
        return tuple(found.values())

    def _of_file(self, step: _Step, path: str) -> tuple[Parsed, ...]:
        source = self._inside(step, path)
        if source not in self.objects:
            documents, unreadable = read_documents([source])
            for failure in unreadable:
                raise step.bad(f"{failure.place}: {failure.message}")
            objects = ((dialects.read(document.manifest), document.manifest) for document in documents)
            self.objects[source] = tuple(Parsed(found, manifest) for found, manifest in objects if found is not None)
            if not self.objects[source]:
                raise step.bad(f"{path} has no object of a kind that carries quota")
        return self.objects[source]

    def _configuration(self, step: _Step, value: Mapping[str, Any]) -> Configuration:
        stated = value.get("configuration")
        if stated is None or isinstance(stated, str):
            configuration = self._of_path(stated and self._inside(step.at("configuration"), stated))
        else:
            configuration = _inline(step.at("configuration"), stated)
        profile = value.get("profile")
        if profile is None:
            return configuration
        if profile not in list(Profile):
            raise step.at("profile").bad(f"{profile!r} is not one of {', '.join(Profile)}")
        return replace(configuration, profile=Profile(profile))

    def _inside(self, step: _Step, path: str) -> str:
        """The path of a file, relative to the suite. It must be in the checkout, since messages show parts of files."""
        whole = os.path.join(self.file.parent, path)  # noqa: PTH118, Path drops the `./` that tells `-` from standard input
        border = enclosing(self.file.absolute().parent)
        if border is not None and not stays_below(whole, border):
            raise step.bad(f"{path} is outside of the checkout {border}; copy it into the checkout")
        return whole

    def _of_path(self, path: str | None) -> Configuration:
        if path not in self.configurations:
            self.configurations[path] = settings(path or self.config, [str(self.file)])
        return self.configurations[path]


@dataclass(frozen=True, slots=True)
class _Step:
    """A place in a suite. `path`: the keys and indices that lead to it, such as `[2].apply[0]`."""

    file: Path
    region: Region
    path: str

    def at(self, key: str) -> _Step:
        return replace(self, path=self.path + (key if key.startswith("[") else f".{key}"))

    def place(self) -> SourcePlace:
        return SourcePlace(str(self.file), *self.region.locate(self.path))

    def bad(self, message: str) -> BadSuite:
        return BadSuite(self.place(), message)


def _mapping(step: _Step, value: object, known: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise step.bad("expected a mapping")
    for key in value:
        if key not in known:
            raise step.at(str(key)).bad(f"unknown key {str(key)!r}; {suggest(key, known)}")
    return value


def _items(step: _Step, value: object) -> Iterator[tuple[_Step, Any]]:
    if value is not None and not isinstance(value, list):
        raise step.bad("expected a list")
    for i, item in enumerate(value or ()):
        yield step.at(f"[{i}]"), item


def _text(step: _Step, value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise step.bad("expected a text")
    return value


def _object(step: _Step, value: object) -> Parsed:
    if not isinstance(value, Mapping):
        raise step.bad("expected a manifest, or the path of a file or folder with manifests")
    found = dialects.read(value)
    if found is None:
        raise step.bad(f"no object of a kind that carries quota: {value.get('kind')} of {value.get('apiVersion')}")
    return Parsed(found, value)


def _inline(step: _Step, value: object) -> Configuration:
    if not isinstance(value, Mapping):
        raise step.bad("expected a mapping, or the path of a configuration file")
    try:
        return read_configuration({"apiVersion": API_VERSION, "kind": KIND, **value}, registry())
    except PolicyError as error:
        raise step.bad(str(error)) from error


def _day(step: _Step, value: object) -> datetime | None:
    if value is None:
        return None
    try:
        day = date.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        day = None
    if day is None:
        raise step.bad(f"{value!r} is not a date; write it as 2026-12-31")
    return datetime.combine(day, time(), UTC)


def _expected(step: _Step, value: object) -> Expected:
    finding = _mapping(step, value, _FINDING)
    texts = {key: _text(step.at(key), finding.get(key)) for key in _FINDING}
    try:
        find(texts["rule"])
    except UnknownRule as error:
        raise step.at("rule").bad(str(error) if texts["rule"] else "a finding needs its rule") from error
    severity = texts["severity"] or Severity.ERROR
    if severity not in list(Severity):
        raise step.at("severity").bad(f"{severity!r} is not one of {', '.join(Severity)}")
    return Expected(texts["rule"], Severity(severity), texts["object"], texts["field"], texts["says"])
