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
"""The fields that a patch that starts or stops a job never changes."""
_WORD = re.compile(r"[A-Za-z0-9]+").fullmatch


def read_jobs(section: Section) -> Mapping[GroupKind, JobShape]:
    """The list `jobs`. Raises BadConfiguration with the path of the key and the nearest known name."""
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
        suspend=_switch(section),
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
        raise BadConfiguration("give at least one pod template: its path in the job", section.at("podSets"))
    finished.done()
    return shape


def _pod_set(section: Section) -> PodSetPath:
    section.expect("name", "template", "counts", "entries", "order")
    entries = _path(section, "entries", "")
    return PodSetPath(
        name=_path(section, "name", "") if entries else section.text("name"),
        template=_path(section, "template"),
        counts=tuple(_count(item, f"{section.at('counts')}[{i}]") for i, item in enumerate(_list(section, "counts"))),
        entries=entries,
        order=tuple(section.texts("order")),
    )


def _count(item: object, at: str) -> Count:
    """Read a path, or a path and the path of its limit."""
    if isinstance(item, str):
        return Count(_checked(item, at))
    section = Section(item, at)
    count = Count(_path(section, "path"), _path(section, "atMost", ""))
    section.done()
    return count


def _switch(section: Section) -> SuspendField:
    """Read the path of a boolean, or a path and its two values."""
    value = section.value("suspend")
    if value is None:
        raise BadConfiguration("is required: the path of the field that suspends the job", section.at("suspend"))
    if isinstance(value, str):
        return SuspendField(_writable(_checked(value, section.at("suspend")), section.at("suspend")))
    part = Section(value, section.at("suspend"))
    path = _writable(_path(part, "path"), part.at("path"))
    switch = SuspendField(path, _scalar(part, "suspended", True), _scalar(part, "running", False))
    if switch.on == switch.off:
        raise BadConfiguration("must differ from the value of a suspended job", part.at("running"))
    part.done()
    return switch


def _sign(section: Section, key: str) -> Sign | None:
    if section.value(key) is None:
        return None
    part = section.section(key)
    condition = part.text("condition", "")
    sign = Sign((condition,) if condition else (), _fields(part, "fields"), _path(part, "message", ""))
    if not sign.conditions and not sign.fields:
        raise BadConfiguration("name a condition, or fields and their values", section.at(key))
    part.done()
    return sign


def _ready(section: Section) -> ReadyPods | None:
    if section.value("ready") is None:
        return None
    part = section.section("ready")
    counts, of = _paths(part, "counts"), _paths(part, "of")
    if counts or of:
        part.done()
        return ReadyPods(counts=counts, of=of)
    return ReadyPods(_sign(section, "ready"))


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
        say = "say how the status shows that the job still has pods; otherwise quota is released while they run"
        raise BadConfiguration(f"{say}; write {_NO_PODS} if a suspended job has no pods at once", section.at("active"))
    return active


def _reclaimable(section: Section) -> ReclaimableCount | None:
    if section.value("reclaimable") is None:
        return None
    part = section.section("reclaimable")
    found = ReclaimableCount(_path(part, "entries"), _path(part, "name"), _path(part, "count"))
    part.done()
    return found


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
    return tuple(_checked(item, f"{section.at(key)}[{i}]") for i, item in enumerate(_list(section, key)))


def _path(section: Section, key: str, default: str | None = None) -> str:
    found = section.text(key, default)
    return _checked(found, section.at(key)) if found else found


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


def _list(section: Section, key: str) -> list[Any]:
    value = section.value(key)
    if not isinstance(value, list | None):
        raise BadConfiguration("expected a list", section.at(key))
    return value or []
