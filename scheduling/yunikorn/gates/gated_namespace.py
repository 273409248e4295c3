"""Namespaces with quota of YuniKorn: the part that decisions need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, Self, TypeAlias

from policies.dialects import yunikorn
from policies.dialects.core import Namespace
from policies.dialects.yunikorn import PARENT_QUEUE
from policies.dialects.yunikorn_config.dynamic import TagLimits, tag_limits
from policies.dialects.yunikorn_config.placement import ReportedApplication
from policies.dialects.yunikorn_flaws import deciding
from policies.dialects.yunikorn_gates import has_quota
from scheduling.yunikorn.application import NamespaceQuota

Usage: TypeAlias = Mapping[str, tuple[int, int]]
"""The used amount and the quota, by resource, in YuniKorn's units."""


class GatedNamespace(NamedTuple):
    """A Namespace.

    limited: whether it has quota annotations, even unreadable ones.
    quota: None if it has no quota, or if it cannot be read.
    flaw: why the quota cannot be read; empty if it can.
    tags: the tags of its applications, which placement rules read.
    limits: the limits in these tags.
    """

    annotations: Mapping[str, str]
    limited: bool
    quota: Mapping[str, int] | None
    flaw: str
    tags: dict[str, str]
    limits: TagLimits

    @classmethod
    def of(cls, name: str, namespace: Namespace) -> Self:
        flaw = next(deciding(namespace), None)
        said = f"{flaw.annotation} cannot be read: {flaw.message}; {flaw.fix}" if flaw else ""
        tags = {"namespace": name, **yunikorn.application_tags(namespace)}
        quota = yunikorn.quota(namespace) if has_quota(namespace) and not flaw else None
        limits = tag_limits(ReportedApplication(tags=tags))
        return cls(namespace.annotations, has_quota(namespace), quota, said, tags, limits)


class GatedNamespaces:
    """All Namespaces by name."""

    def __init__(self) -> None:
        self._found: dict[str, GatedNamespace] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._found

    def put(self, name: str, namespace: Namespace | None) -> bool:
        """Store a Namespace; None removes it. Returns whether decisions may change."""
        before = self._found.pop(name, None)
        if namespace is None:
            return True
        same = before is not None and before.annotations == namespace.annotations
        self._found[name] = before if before is not None and same else GatedNamespace.of(name, namespace)
        return not same

    def annotations(self, name: str) -> Mapping[str, str] | None:
        """The annotations of the stored Namespace; None for an unknown one."""
        return self._found[name].annotations if name in self._found else None

    def flaw(self, name: str) -> str:
        """Why the quota of the Namespace cannot be read; empty if it can."""
        return self._found[name].flaw if name in self._found else ""

    def has_quota(self, name: str) -> bool:
        return name in self._found and self._found[name].limited

    def quota(self, name: str) -> Mapping[str, int]:
        """The quota of the Namespace; empty if it has none, or if it cannot be read."""
        return (self._found[name].quota or {}) if name in self._found else {}

    def quotas(self) -> Iterator[tuple[str, Mapping[str, int]]]:
        """Yield each Namespace with a readable quota, and the quota."""
        yield from ((name, each.quota) for name, each in self._found.items() if each.quota)

    def bound(self, name: str) -> NamespaceQuota | None:
        """The limit for all dynamic queues of the Namespace together; None without a quota."""
        if name not in self._found:
            return None
        limits = self._found[name].limits
        if limits.maximum is None and not limits.max_applications:
            return None
        return NamespaceQuota(name, limits.maximum or {}, limits.max_applications)

    def parent_of(self, name: str) -> str:
        """The parent queue that the Namespace names; empty if it names none."""
        return self._found[name].annotations.get(PARENT_QUEUE, "") if name in self._found else ""

    def limits(self, name: str) -> TagLimits:
        """The limits that an application of the Namespace sets on a dynamic leaf."""
        return self._found[name].limits if name in self._found else TagLimits()

    def tags(self, name: str) -> dict[str, str]:
        return self._found[name].tags if name in self._found else {"namespace": name}
