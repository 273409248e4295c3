"""Finds a safe order for a change set, by the judge of the webhook."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from analysis.context import ChangeSet
from policies.configuration.settings import Configuration
from policies.dialects.declared import DECLARED
from policies.dialects.reading import Parsed
from policies.judge import StateBefore, judge, stored_state
from policies.judging.changes import change as change_of
from policies.judging.verdict import Judged, Verdict
from policies.model.change import Circumstances
from policies.model.findings import Severity
from policies.model.forest import Forest
from policies.model.objects import Ref
from policies.mutation.stored import stored
from policies.rollout.edits import Edit, Site
from policies.rollout.order import ApplyOrder, arrange
from policies.rollout.waves import Sync, syncs


@dataclass(frozen=True, slots=True)
class Rollout:
    """A rollout. `verdict`: on the whole change as one transaction. If it refuses, there is no order."""

    change: ChangeSet
    verdict: Verdict
    order: ApplyOrder
    steps: tuple[Sync, ...]

    @property
    def refusals(self) -> tuple[Judged, ...]:
        """The findings that refuse the whole change."""
        return self.verdict.of(Severity.ERROR)


def rollout(change: ChangeSet, configuration: Configuration) -> Rollout:
    state = _state(change, configuration)
    site = Site(state.world, configuration, Circumstances(now=datetime.now(UTC)))
    edits = list(_edits(change, state, configuration))
    whole = judge(site.world, [change_of(it.before, it.after) for it in edits], configuration, site.circumstances)
    order = arrange(site, edits) if whole.verdict.complete().allowed else ApplyOrder(())
    return Rollout(change, whole.verdict, order, tuple(syncs(site.world, order.edits)))


def _state(change: ChangeSet, configuration: Configuration) -> StateBefore:
    """The state before the change. Files are completed as a cluster would store them."""
    if change.against.of_cluster:
        written = {ref: placed.document.manifest for ref, placed in change.before.objects.items()}
        world = change.cluster.world.put_all(placed.obj for placed in change.before.objects.values())
        return StateBefore(world, {**change.cluster.manifests, **written})
    manifests = {ref: placed.document.manifest for ref, placed in change.before.objects.items()}
    return stored_state(StateBefore(Forest.of(change.existing(), DECLARED), manifests), configuration)


def _edits(change: ChangeSet, state: StateBefore, configuration: Configuration) -> Iterator[Edit]:
    written = [Parsed(placed.obj, placed.document.manifest) for placed in change.applied.objects.values()]
    for after in stored(written, state.world, configuration):
        yield Edit(_held(state, after.object.ref), after)
    for found in change.deleted:
        yield Edit(_held(state, found.ref) or Parsed(found, None), None)


def _held(state: StateBefore, ref: Ref) -> Parsed | None:
    found = state.world.get(ref)
    return Parsed(found, state.manifests.get(ref)) if found is not None else None
