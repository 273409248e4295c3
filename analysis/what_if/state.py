"""A cluster that was read once, and the effect of changes on it.

The engine of `quotree diff` and the judge of `quotree validate` compute it, so the results equal those of these
commands.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from analysis.cluster import followed
from analysis.context import ChangeSet, Context
from analysis.context_name import ContextName
from analysis.documents import Document, Unreadable, parse
from analysis.impact import of_cluster, played
from analysis.inputs import NO_FILES, InputObjects, identify
from analysis.judgement import judge
from analysis.report import report
from analysis.simulation import SimulatedFiles, decision_settings
from analysis.what_if.outcome import MOST, PASTED, WhatIfOutcome, outcome, unshown
from analysis.what_if.rights import Rights
from cluster.client import ClusterClient
from cluster.served import FOLLOWED
from cluster.sources import WatchSource
from policies.configuration.settings import Configuration
from policies.dialects.declared import DECLARED
from policies.dialects.reading import Manifest, metadata
from policies.model.forest import Forest
from policies.model.objects import Ref
from policies.text.field_paths import Region
from policies.text.positions import TextLines, TextSpan
from reconciler.api.explanation import explanation_json
from reconciler.api.snapshot import snapshot
from reconciler.process import DecisionSettings
from scheduling.simulation.intake import is_played
from scheduling.simulation.simulation import KueueSimulation
from scheduling.world.world import World

_NO_TEXT = Region.of("", lambda *_: iter(()), TextSpan(0, 0, (0, 0)), TextLines(""))
"""The region of objects of the form, which are in no text."""
_CLUSTER = ContextName("cluster")


@dataclass(frozen=True, slots=True)
class ProposedChange:
    """A change to try.

    manifests: the objects that the form makes.
    pasted: YAML as the user typed it. It is parsed here, where the time is limited.
    """

    manifests: tuple[dict[str, Any], ...] = ()
    pasted: str = ""


@dataclass(slots=True)
class SettledCluster:
    """The state of a cluster with a settled simulation.

    `answer` changes the simulation, so it can be called only once, or in a copy of the process each time.

    manifests: those of the kinds that users keep in files, as JSON, which takes a tenth of the memory.
    as_of: when the cluster was read.
    left_out: the resources that the caller may not list.
    """

    forest: Forest
    manifests: Mapping[Ref, bytes]
    simulation: KueueSimulation
    files: SimulatedFiles
    as_of: datetime
    left_out: tuple[str, ...] = ()

    @classmethod
    def read(cls, cluster: ClusterClient, found: Rights, configuration: Configuration) -> SettledCluster:
        """Read the objects that the caller may list. Raises ClusterError."""
        as_of, kept = datetime.now(UTC), dict[Ref, bytes]()

        def keep(ref: Ref, manifest: Manifest) -> None:
            if ref.group_kind in DECLARED:
                kept[ref] = json.dumps(manifest).encode()

        judged = [source for source in found.readable if source.kind in FOLLOWED]
        forest = followed(cluster, judged, keep)
        forest = replace(forest, known=forest.known | {source.kind for source in found.absent})
        unread = {resource for source in (*found.absent, *found.left_out) for resource in source.versions}
        left_out = _plurals(found.left_out)
        return cls.of(forest, kept, lambda found: snapshot(cluster, found, unread), as_of, configuration, left_out)

    @classmethod
    def of(
        cls,
        forest: Forest,
        manifests: Mapping[Ref, bytes],
        read: Callable[[DecisionSettings], World],
        as_of: datetime,
        configuration: Configuration,
        left_out: tuple[str, ...] = (),
    ) -> SettledCluster:
        """The state from objects that were read, with a settled simulation.

        `read`: makes a World with these settings.
        """
        engine = decision_settings(configuration)
        files = SimulatedFiles(configuration, trees=False)
        decisions = DecisionSettings(engine.options, engine.ordering, engine.counting, engine.waiting)
        world = read(replace(decisions, topologies=engine.topologies))
        simulation = of_cluster(world, forest, engine, files)
        simulation.add(())  # settle before the change, as `diff` does, once for all questions
        return cls(forest, manifests, simulation, files, as_of, left_out)

    def answer(self, change: ProposedChange) -> WhatIfOutcome:
        inputs = _inputs(change)
        manifests = {ref: json.loads(self.manifests[ref]) for ref in inputs.objects if ref in self.manifests}
        context = Context(_CLUSTER, self.forest, manifests=manifests, as_of=self.as_of)
        judged = report(inputs, context, judge(inputs, context, self.files.configuration))
        known, left_out = set(self.simulation.names), dict(self.simulation.left_out)
        impact = played(ChangeSet("the cluster", _CLUSTER, context, NO_FILES, inputs, ()), self.simulation, self.files)
        work = [key for key in self.simulation.names if key not in known]
        left = [each for name, each in self.simulation.left_out.items() if name not in left_out]
        rest = [_name(each.manifest) for each in inputs.rest if not is_played(each.manifest)]
        found = outcome(judged, impact, f"{self.as_of:%Y-%m-%dT%H:%M:%SZ}")
        return replace(
            found,
            work=self._work(work[:MOST]),
            in_no_queue=left[:MOST],
            not_judged=rest[:MOST],
            left_out=self.left_out,
            more={**found.more, **unshown(work=work, in_no_queue=left, not_judged=rest)},
        )

    def _work(self, keys: list[str]) -> list[dict[str, Any]]:
        """The answers of `quotree why` about the work that the change adds."""
        world, now = self.simulation.world, self.simulation.now
        return [explanation_json(world, key, now) for key in keys if key in world.workloads]


def _plurals(sources: Iterable[WatchSource]) -> tuple[str, ...]:
    """The resources as arguments of `kubectl get`, without duplicates."""
    resources = (source.versions[0] for source in sources)
    return tuple(dict.fromkeys(f"{each.plural}.{each.group}".rstrip(".") for each in resources))


def _inputs(change: ProposedChange) -> InputObjects:
    found = [*parse(PASTED, change.pasted.encode(errors="replace"))] if change.pasted.strip() else []
    made = [Document(each, "form", _NO_TEXT) for each in change.manifests]
    inputs = identify(
        [*made, *(each for each in found if isinstance(each, Document))],
        [each for each in found if isinstance(each, Unreadable)],
    )
    twice = (
        Unreadable(each.second.place(), f"{each}; keep one of the two") for each in inputs.repeated if not each.equal
    )
    return replace(inputs, unreadable=(*inputs.unreadable, *twice))


def _name(manifest: Manifest) -> str:
    """The kind and name of an object that Quotree does not judge, without its content."""
    meta = metadata(manifest)
    name = "/".join(str(part) for part in (meta.get("namespace"), meta.get("name")) if part)
    return f"{manifest.get('kind') or 'something without a kind'} {name}"[:200].strip()
