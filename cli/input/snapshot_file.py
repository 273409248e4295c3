"""Reads a file of `quotree snapshot`: the quota, usage and work of a cluster at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from cli.exits import OutOfReach
from cli.input.regular_file import read_regular
from policies.dialects import core, volcano
from policies.dialects.kueue_kinds import WORKLOAD
from policies.dialects.reading import Manifest
from policies.model.objects import GroupKind
from policies.text import json_values
from policies.text.positions import BadText, position

API_VERSION = "quotree.dev/v1alpha1"
KIND = "Snapshot"
MAX_SIZE = 256 * 2**20
"""The maximum size in bytes. 10 000 queues and 50 000 workloads take about 60 MiB."""
WORK = frozenset({WORKLOAD, volcano.JOB, volcano.POD_GROUP, core.POD})
"""Kinds of which a snapshot has only some fields, so that they cannot be compared with a changed manifest."""

_TEXTS = ("apiVersion", "kind", "takenAt", "cluster", "quotree")
_KEYS = {*_TEXTS, "namesHashed", "complete", "objects"}
_AGAIN = "take it again with `quotree snapshot`"


@dataclass(frozen=True, slots=True)
class SnapshotFile:
    """A snapshot of a cluster.

    `taken`: when the cluster was read.
    `cluster`: the name of the cluster.
    `complete`: the kinds of which `objects` has all objects.
    `names_hashed`: whether the names of work, users and groups are hashed.
    """

    taken: datetime
    cluster: str
    complete: frozenset[GroupKind]
    objects: tuple[Manifest, ...]
    names_hashed: bool = False


def read(file: str) -> SnapshotFile:
    """Read a snapshot. Raises OutOfReach with the cause and the fix if any part of it is not valid."""
    try:
        data, _ = read_regular(file, MAX_SIZE + 1)
        text = data.decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise OutOfReach(f"snapshot {file} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if len(data) > MAX_SIZE:
        raise OutOfReach(f"snapshot {file} is larger than {MAX_SIZE // 2**20} MiB; use --against cluster instead")
    root = json_values.read(text)
    if isinstance(root, BadText):
        place = position(text, root.offset)
        raise OutOfReach(f"snapshot {file}:{place.line}:{place.column}: {root.message}; {_AGAIN}")
    fault = _fault(root.value)
    if fault:
        raise OutOfReach(f"snapshot {file}: {fault}; {_AGAIN}")
    return SnapshotFile(
        taken=_moment(root.value["takenAt"]) or datetime.fromtimestamp(0, UTC),
        cluster=root.value["cluster"],
        complete=frozenset(map(_kind, root.value["complete"])),
        objects=tuple(root.value["objects"]),
        names_hashed=root.value["namesHashed"],
    )


def _fault(value: object) -> str:
    """Why the value is not a snapshot of this version; empty if it is one."""
    if not isinstance(value, Mapping) or value.get("kind") != KIND:
        return f"it is not a {KIND}"
    if value.get("apiVersion") != API_VERSION:
        return f"its apiVersion is {str(value.get('apiVersion'))[:80]!r}, and this quotree reads {API_VERSION}"
    wrong = sorted(map(str, value.keys() ^ _KEYS))
    if wrong:
        return f"these keys are missing or unknown: {', '.join(wrong[:10])}"
    if not all(isinstance(value[key], str) for key in _TEXTS) or _moment(value["takenAt"]) is None:
        return "takenAt, cluster or quotree cannot be read"
    if not isinstance(value["namesHashed"], bool):
        return "namesHashed is neither true nor false"
    complete = value["complete"]
    if not isinstance(complete, list) or not all(isinstance(each, str) and each for each in complete):
        return "`complete` is not a list of kinds"
    objects = value["objects"]
    if not isinstance(objects, list):
        return "`objects` is not a list"
    broken = next((number for number, each in enumerate(objects) if not _is_object(each)), None)
    return "" if broken is None else f"objects[{broken}] is not an object with apiVersion, kind and metadata.name"


def _is_object(value: object) -> bool:
    if not isinstance(value, Mapping) or not isinstance(value.get("metadata"), Mapping):
        return False
    named = (value.get("apiVersion"), value.get("kind"), value["metadata"].get("name"))
    return all(isinstance(each, str) and each for each in named)


def _moment(text: str) -> datetime | None:
    try:
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S%z").astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _kind(text: str) -> GroupKind:
    """The kind in the form `Kind.group`. A kind of the core group has no group."""
    kind, _, group = text.partition(".")
    return GroupKind(group, kind)
