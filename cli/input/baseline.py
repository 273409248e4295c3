"""Reads and writes a baseline: a file of known findings, one JSON line each, so that only new findings fail."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from analysis.documents import MAX_SIZE, SourcePlace
from cli.exits import Misused
from cli.input.regular_file import read_regular
from cli.output import replace, without_commands
from policies.judging.fingerprint import fingerprints
from policies.judging.verdict import Judged
from policies.model.objects import Ref
from policies.text import json_values
from policies.text.positions import BadText

API_VERSION = "quotree.dev/v1alpha1"
_HEAD = {"apiVersion": API_VERSION, "kind": "Baseline"}
_CURE = "write it anew with `quotree baseline create`"
_KEYS = ("fingerprint", "rule", "group", "kind", "namespace", "name", "field", "subject")


@dataclass(frozen=True, slots=True)
class OldFinding:
    """An entry of a baseline. The fingerprint identifies the finding. The other fields are for people.

    They also show whether the object still exists.
    """

    fingerprint: str
    rule: str
    group: str
    kind: str
    namespace: str
    name: str
    field: str
    subject: str

    @property
    def object(self) -> Ref:
        return Ref(self.group, self.kind, self.namespace, self.name)


@dataclass(frozen=True, slots=True)
class Baseline:
    """A baseline file. `entries`: one for each line, from line 2 on."""

    file: str
    entries: tuple[OldFinding, ...] = ()

    @property
    def known(self) -> frozenset[str]:
        return frozenset(entry.fingerprint for entry in self.entries)

    def places(self) -> dict[OldFinding, SourcePlace]:
        return {entry: SourcePlace(self.file, line, 1) for line, entry in enumerate(self.entries, 2)}


def of(findings: Iterable[Judged]) -> tuple[OldFinding, ...]:
    every = tuple(findings)
    return tuple(entry(each, known_by) for each, known_by in zip(every, fingerprints(every), strict=True))


def entry(judged: Judged, known_by: str) -> OldFinding:
    """The entry of a finding. `known_by`: its fingerprint, which also distinguishes similar findings."""
    finding = judged.finding
    return OldFinding(known_by, judged.rule.id, *finding.object, finding.field, finding.subject)


def read(file: str) -> Baseline:
    """Read a baseline file. Raises Misused with the file and the line."""
    try:
        data, _ = read_regular(file, MAX_SIZE + 1)
        text = data.decode()
    except (OSError, ValueError) as error:
        raise Misused(f"--baseline {file}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if len(data) > MAX_SIZE:
        raise Misused(f"--baseline {file}: larger than {MAX_SIZE // 2**20} MiB; {_CURE}")
    head, *lines = text.split("\n")
    if _value(file, 1, head) != _HEAD:
        raise Misused(f"{file}:1:1: this is not a Baseline of {API_VERSION}; {_CURE}")
    if lines and not lines[-1]:
        lines.pop()
    entries = tuple(_old(file, number, line) for number, line in enumerate(lines, 2))
    return Baseline(file, entries)


def baseline_text(entries: Iterable[OldFinding]) -> str:
    """The text of the file, without the last line break."""
    return without_commands("\n".join(json.dumps(each) for each in (_HEAD, *map(asdict, entries))))


def write(baseline: Baseline) -> None:
    """Replace the file atomically. Raises Misused."""
    try:
        replace(Path(baseline.file), baseline_text(baseline.entries))
    except OSError as error:
        raise Misused(f"{baseline.file}: cannot be written: {error.strerror or error}") from error


def _old(file: str, number: int, line: str) -> OldFinding:
    value = _value(file, number, line)
    if not isinstance(value, dict) or set(value) != set(_KEYS) or not all(isinstance(it, str) for it in value.values()):
        raise Misused(f"{file}:{number}:1: this is not an entry of a baseline; {_CURE}")
    return OldFinding(**value)


def _value(file: str, number: int, line: str) -> Any:
    root = json_values.read(line)
    if isinstance(root, BadText):
        raise Misused(f"{file}:{number}:{root.offset + 1}: {root.message}; {_CURE}")
    return root.value
