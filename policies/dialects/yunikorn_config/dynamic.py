"""Applies the tags of an application to its queue: the shim sends the quota of the Namespace in them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from policies.dialects.yunikorn import core_max_apps, effective
from policies.dialects.yunikorn_config.placement import RECOVERY_QUEUE, ReportedApplication
from policies.dialects.yunikorn_config.resources import YuniKornAmounts, from_tag, least, over

QUOTA = "namespace.resourcequota"
GUARANTEED = "namespace.resourceguaranteed"
MAX_APPLICATIONS = "namespace.resourcemaxapps"


@dataclass(frozen=True, slots=True)
class Leaf:
    """An existing leaf queue. `managed`: whether it is declared in queues.yaml, so that tags do not change it."""

    path: str
    managed: bool
    maximum: YuniKornAmounts | None = None
    guaranteed: YuniKornAmounts | None = None
    max_applications: int = 0


class TagLimits(NamedTuple):
    """The limits in the tags of an application. None, or 0 applications: the tags set no such limit."""

    maximum: YuniKornAmounts | None = None
    guaranteed: YuniKornAmounts | None = None
    max_applications: int = 0


def tagged_amounts(application: ReportedApplication, tag: str) -> YuniKornAmounts | None:
    """The amounts in a tag; None if it is absent, unreadable, has a negative amount, or only zeros."""
    try:
        return effective(from_tag(application.tag(tag)))
    except ValueError:
        return None


def tag_limits(application: ReportedApplication) -> TagLimits:
    quota, guaranteed = (tagged_amounts(application, tag) for tag in (QUOTA, GUARANTEED))
    return TagLimits(quota, guaranteed, core_max_apps(application.tag(MAX_APPLICATIONS)))


def with_tags(leaf: Leaf, application: ReportedApplication) -> Leaf:
    """The leaf after the application arrived."""
    return with_limits(leaf, tag_limits(application))


def with_limits(leaf: Leaf, limits: TagLimits) -> Leaf:
    """The leaf after an application with these limits arrived. Its max and guarantee are replaced together."""
    if leaf.managed or leaf.path.lower() == RECOVERY_QUEUE:
        return leaf
    if limits.maximum is not None or limits.guaranteed is not None:
        leaf = replace(leaf, maximum=limits.maximum, guaranteed=limits.guaranteed)
    return replace(leaf, max_applications=limits.max_applications) if limits.max_applications else leaf


def gang_excess(maxima: Iterable[YuniKornAmounts | None], gang: YuniKornAmounts) -> list[str]:
    """The resource types for which a queue on the path, below root, allows less than the gang requests."""
    return over(gang, least(*maxima))
