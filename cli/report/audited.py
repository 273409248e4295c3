"""The result of `quotree audit`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from analysis.documents import Unreadable
from cli.input.against import Against
from cli.input.baseline import Baseline
from cli.input.context import load
from cli.progress import stage
from policies.audit.audited import Audit
from policies.audit.audited import audit as audit_of
from policies.configuration.settings import Configuration
from policies.judge import StateBefore, stored_state
from policies.model.forest import Forest


@dataclass(frozen=True, slots=True)
class ShownAudit:
    """An audit of files or a cluster.

    `against`: the files or the cluster.
    `as_of`: when the cluster was read; None for files.
    `unreadable`: the inputs that could not be judged.
    `has_baseline`: whether the findings of a baseline were removed.
    """

    against: Against
    audit: Audit
    as_of: datetime | None = None
    unreadable: tuple[Unreadable, ...] = ()
    has_baseline: bool = False


def audited(against: Against, configuration: Configuration) -> ShownAudit:
    """Audit files or a cluster. Raises OutOfReach if it cannot be read."""
    context = load(against, configuration)
    world: Forest = context.world
    stage("judging")
    if against.kind == "files":  # objects of a cluster are in their stored state already
        world = stored_state(StateBefore(world, context.manifests), configuration).world
    found = audit_of(world, configuration, datetime.now(UTC))
    return ShownAudit(against, found, context.as_of, context.unreadable)


def within(audited: ShownAudit, root: str) -> ShownAudit:
    """The audit, limited to trees whose root has this name."""
    return replace(audited, audit=audited.audit.only(lambda each: each.below(root)))


def without_old(audited: ShownAudit, baseline: Baseline) -> ShownAudit:
    """The audit without the findings of the baseline, which are counted. Only `validate` reports stale entries."""
    return replace(audited, audit=audited.audit.without(baseline.known), has_baseline=True)
