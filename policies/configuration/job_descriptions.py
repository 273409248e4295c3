"""Reads `reconciler.jobs`: kinds of jobs that an administrator describes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from policies.configuration.section import Section
from policies.dialects.frameworks import SHAPES
from policies.dialects.job_shape import (
    Active,
    Count,
    JobShape,
    PodSetPath,
    ReadyPods,
    ReclaimableCount,
    Sign,
    SuspendField,
)
from policies.model.errors import BadConfiguration
from policies.model.objects import GroupKind

_PATH = re.compile(r"[^.\s]+(\.[^.\s]+)*").fullmatch
_GROUP = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+").fullmatch
_KEYS = (
    *("group", "version", "kind", "plural", "suspend", "podSets", "finished", "ready", "active", "reclaimable"),
    *("priorityClass", "managedBy", "prebuilt", "unless", "restoreWhenQuiet"),
)
_NO_PODS = "none"
_NOT_WRITTEN = ("apiVersion", "kind", "metadata", "status")
"""Top-level fields that a suspend field must not be in: the patch that starts or stops a job does not write them."""
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?").fullmatch
_WORD = re.compile(r"[A-Za-z0-9]+").fullmatch


def read_jobs(section: Section) -> Mapping[GroupKind, JobShape]:
    """The list `jobs`. Raises BadConfiguration with the path of the key."""
    found: dict[GroupKind, JobShape] = {}
    for entry in section.sections("jobs"):
        shape = _shape(entry)
        if shape.kind in SHAPES:
            name = f"{shape.kind.kind} of {shape.kind.group}"
            raise BadConfiguration(f"{name} is a built-in kind; remove its description", entry.at("kind"))
        if shape.kind in found:
            raise BadConfiguration(f"{shape.kind.kind} of {shape.kind.group} is described twice", entry.at("kind"))
        found[shape.kind] = shape
    return found


def _shape(section: Section) -> JobShape:
    section.expect(*_KEYS)
    finished = section.section("finished")
    shape = JobShape(
        kind=GroupKind(_matching(section, "group", _GROUP, "example.com"), _matching(section, "kind", _WORD, "Train")),
        version=_matching(section, "version", _WORD, "v1"),
        plural=_matching(section, "plural", _WORD, "trains"),
        pod_sets=tuple(_pod_set(entry) for entry in section.sections("podSets")),
        suspend=_suspend_field(section),
        succeeded=_sign(finished, "succeeded"),
        failed=_sign(finished, "failed"),
        ready=_ready(section),
        active=_active(section),
        reclaimable=_reclaimable(section),
        priority_class=_path(section, "priorityClass", ""),
        managed_by=_path(section, "managedBy", ""),
        prebuilt=section.flag("prebuilt", True),
        unless=_path(section, "unless", ""),
        late=section.flag("restoreWhenQuiet", False),
    )
    if not shape.pod_sets:
        raise BadConfiguration("name at least one pod set, with the path of its pod template", section.at("podSets"))
    finished.done()
    return shape


def _pod_set(section: Section) -> PodSetPath:
    section.expect("name", "template", "counts", "entries", "order")
    entries = _path(section, "entries", "")
    return PodSetPath(
        name=_path(section, "name", "") if entries else _matching(section, "name", _NAME, "worker"),
        template=_path(section, "template"),
        counts=tuple(_count(item, f"{section.at('counts')}[{i}]") for i, item in enumerate(section.entries("counts"))),
        entries=entries,
        order=tuple(section.texts("order")),
    )


def _count(item: object, at: str) -> Count:
    """Read the number of pods: the path of a number, or `path` and `atMost`, the path of a number that limits it."""
    if isinstance(item, str):
        return Count(_checked(item, at))
    section = Section(item, at)
    section.expect("path", "atMost")
    return Count(_path(section, "path"), _path(section, "atMost", ""))


def _suspend_field(section: Section) -> SuspendField:
    """Read the suspend field: the path of a boolean, or `path`, `suspended` and `running`."""
    value = section.value("suspend")
    if value is None:
        raise BadConfiguration("is required: the path of the field that suspends the job", section.at("suspend"))
    if isinstance(value, str):
        return SuspendField(_writable(_checked(value, section.at("suspend")), section.at("suspend")))
    part = Section(value, section.at("suspend"))
    part.expect("path", "suspended", "running")
    path = _writable(_path(part, "path"), part.at("path"))
    switch = SuspendField(path, _scalar(part, "suspended", True), _scalar(part, "running", False))
    if switch.on == switch.off:
        raise BadConfiguration("must differ from the value of a suspended job", part.at("running"))
    return switch


def _sign(section: Section, key: str, *instead: str) -> Sign | None:
    """Read what a status must show. `instead`: the other keys of a description without conditions and fields."""
    if section.value(key) is None:
        return None
    part = section.section(key)
    part.expect("condition", "fields", "message", *instead)
    condition = part.text("condition", "")
    sign = Sign((condition,) if condition else (), _fields(part, "fields"), _path(part, "message", ""))
    if not sign.conditions and not sign.fields:
        raise BadConfiguration("name a condition, or fields and their values", section.at(key))
    return sign


def _ready(section: Section) -> ReadyPods | None:
    if section.value("ready") is None:
        return None
    part = section.section("ready")
    counts, of = _paths(part, "counts"), _paths(part, "of")
    if of and not counts:
        raise BadConfiguration("is required beside `of`, else no job is ever ready", part.at("counts"))
    if counts:
        part.done()
        return ReadyPods(counts=counts, of=of)
    return ReadyPods(_sign(section, "ready", "counts", "of"))


def _active(section: Section) -> Active:
    """Read how the status shows remaining pods. It is required, else quota would be released while pods still run."""
    if section.value("active") == _NO_PODS:
        return Active()
    part = section.section("active")
    active = Active(
        counts=_paths(part, "counts"),
        idle=_fields(part, "idle"),
        sign=_sign(part, "when"),
        resumed=part.text("suspendedCondition", ""),
    )
    part.done()
    if active == Active():
        raise BadConfiguration(
            "say how the status shows that the job still has pods; otherwise quota is released while they run; "
            f"write {_NO_PODS} if suspending a job ends its pods at once",
            section.at("active"),
        )
    return active


def _reclaimable(section: Section) -> ReclaimableCount | None:
    if section.value("reclaimable") is None:
        return None
    part = section.section("reclaimable")
    part.expect("entries", "name", "count")
    return ReclaimableCount(_path(part, "entries"), _path(part, "name"), _path(part, "count"))


def _fields(section: Section, key: str) -> dict[str, tuple[object, ...]]:
    value = section.value(key)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise BadConfiguration("expected a mapping from paths to values", section.at(key))
    return {
        _checked(path, f"{section.at(key)}.{path}"): tuple(wanted) if isinstance(wanted, list) else (wanted,)
        for path, wanted in value.items()
    }


def _paths(section: Section, key: str) -> tuple[str, ...]:
    return tuple(_checked(item, f"{section.at(key)}[{i}]") for i, item in enumerate(section.entries(key)))


def _path(section: Section, key: str, default: str | None = None) -> str:
    """The path; `default` or an empty one only if the path has a default."""
    found = section.text(key, default)
    return _checked(found, section.at(key)) if found or default is None else found


def _checked(path: object, at: str) -> str:
    if not isinstance(path, str) or not _PATH(path):
        raise BadConfiguration(f"{path!r} is not a valid path; separate keys by dots, as in spec.template", at)
    return path


def _writable(path: str, at: str) -> str:
    if path.partition(".")[0] in _NOT_WRITTEN:
        raise BadConfiguration(f"{path!r} cannot start or stop a job; name a field of its spec", at)
    return path


def _matching(section: Section, key: str, fits: Any, example: str) -> str:
    found = section.text(key)
    if not fits(found):
        raise BadConfiguration(f"{found!r} is not valid; use a form such as {example}", section.at(key))
    return found


def _scalar(section: Section, key: str, default: object) -> object:
    value = section.value(key)
    if isinstance(value, Mapping | list):
        raise BadConfiguration("expected a string, a number, true or false", section.at(key))
    return default if value is None else value
