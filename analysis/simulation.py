"""Simulates objects of files, as a cluster would store them, in the queues of Kueue, Volcano and YuniKorn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from analysis.documents import Document, Unreadable
from analysis.inputs import InputObjects, Placed, Repeated
from policies.configuration.kueue.gates import FeatureGates
from policies.configuration.settings import Configuration
from policies.dialects import volcano
from policies.dialects.core import CONFIG_MAP
from policies.dialects.declared import DECLARED
from policies.dialects.reading import Manifest, Parsed, group_kind
from policies.dialects.schemaless import faults
from policies.dialects.yunikorn_config.configmap import read_config_map
from policies.model.findings import Profile
from policies.model.forest import Forest
from policies.model.objects import Defect, Node, Ref
from policies.mutation.stored import stored
from scheduling.impact.elsewhere import OtherSimulation
from scheduling.simulation.intake import has_no_schema, is_played
from scheduling.simulation.settings import SimulationSettings, read_settings
from scheduling.simulation.simulation import KueueSimulation, begin
from scheduling.simulation.submissions import is_submission
from scheduling.volcano.play.intake import is_volcanos
from scheduling.volcano.play.simulation import VolcanoSimulation as Volcano
from scheduling.volcano.scheduler_conf import SETTLED_CONF, SchedulerConf
from scheduling.yunikorn.intake import is_yunikorns
from scheduling.yunikorn.simulation import YuniKornSimulation as YuniKorn

_NOT_KUEUES = ("metadata.annotations",)
"""Fields whose defects Kueue ignores."""


@dataclass(slots=True)
class SimulatedFiles:
    """All files that were read so far.

    trees: whether the forest has the nodes of the quota trees.
    forest: the objects, for drawings.
    unreadable: inputs that cannot be read.
    refused: objects that are left out, since no API server would accept them.
    repeated: objects that occur twice. The first one is simulated.
    others: manifests for Volcano and YuniKorn that `take_others` has not returned yet.
    """

    configuration: Configuration
    trees: bool = True
    forest: Forest = field(default_factory=lambda: Forest(frozenset(DECLARED)))
    unreadable: list[Unreadable] = field(default_factory=list)
    refused: list[Unreadable] = field(default_factory=list)
    repeated: list[Repeated] = field(default_factory=list)
    others: list[Manifest] = field(default_factory=list)

    def accept(self, files: InputObjects) -> list[Manifest]:
        """The manifests of these files as they would be stored, without those that no API server would accept."""
        self.unreadable += files.unreadable
        self.repeated += (each for each in files.repeated if not each.equal)
        played = {ref: placed for ref, placed in files.objects.items() if is_played(placed.document.manifest)}
        rest = [document for document in files.rest if is_played(document.manifest)]
        rest = [document for document in rest if not self._has_wrong_structure(document)]
        accepted = {ref: placed for ref, placed in played.items() if not self._is_refused(placed)}
        written = [Parsed(placed.obj, placed.document.manifest) for placed in accepted.values()]
        self.others += [_named(each) for each in written if _is_others(each.manifest or {})]
        self.others += [document.manifest for document in rest if _is_others(document.manifest)]
        self.others += self._others_only(files)
        complete = stored(written, self.forest, self.configuration)
        self.forest = self.forest.put_all(it.object for it in complete if self.trees or not isinstance(it.object, Node))
        return [*map(_named, complete), *(document.manifest for document in rest)]

    @property
    def left_out(self) -> list[Unreadable]:
        """The inputs that are not simulated: they cannot be read, or no API server would accept them."""
        return [*self.unreadable, *self.refused]

    def assumptions(self) -> list[str]:
        """A sentence for each object that occurs twice."""
        return [f"{each}, again at {each.second.place()}; the first is used" for each in self.repeated]

    def take_others(self) -> list[Manifest]:
        """The manifests for Volcano and YuniKorn that were read since the last call."""
        taken, self.others = self.others, []
        return taken

    def _others_only(self, files: InputObjects) -> Iterator[Manifest]:
        """The manifests that only Volcano or YuniKorn reads."""
        for placed in files.objects.values():
            manifest = placed.document.manifest
            if is_played(manifest) or not _is_others(manifest):
                continue
            if group_kind(manifest) == CONFIG_MAP or not self._is_refused(placed):
                yield manifest
        for document in files.rest:
            theirs = _is_others(document.manifest) and not is_played(document.manifest)
            if theirs and not self._has_wrong_structure(document):
                yield document.manifest

    def _is_refused(self, placed: Placed) -> bool:
        """Whether an API server would refuse the object. If so, it is added to `refused`."""
        defects = [defect for defect in placed.obj.defects if _counts(defect)]
        if not defects and has_no_schema(placed.document.manifest):
            return self._has_wrong_structure(placed.document, _called(placed.obj.ref))
        self._report(placed.document, _called(placed.obj.ref), defects)
        return bool(defects)

    def _has_wrong_structure(self, document: Document, name: str = "") -> bool:
        defects = list(faults(document.manifest))
        self._report(document, name or str(document.manifest.get("kind")), defects)
        return bool(defects)

    def _report(self, document: Document, name: str, defects: Iterable[Defect]) -> None:
        for defect in defects:
            where = f"{defect.field}: " if defect.field else ""
            message = f"{name} is left out, since no API server would accept it: {where}{defect.message}"
            self.refused.append(Unreadable(document.place(defect.field), message))


def _is_others(manifest: Manifest) -> bool:
    return is_yunikorns(manifest) or is_volcanos(manifest)


@dataclass(slots=True)
class OtherQueues:
    """The usage and the work in the queues of Volcano and YuniKorn."""

    volcano: Volcano
    yunikorn: YuniKorn

    @property
    def others(self) -> tuple[OtherSimulation, ...]:
        return self.volcano, self.yunikorn

    @property
    def problems(self) -> list[str]:
        return [problem for each in self.others for problem in each.problems]


@dataclass(slots=True)
class Simulations(OtherQueues):
    """The same files in the queues of Kueue, of Volcano and of YuniKorn, at the same time."""

    files: SimulatedFiles
    kueue: KueueSimulation

    def bring(self) -> None:
        """Add newly read manifests to the simulations of Volcano and YuniKorn, and settle these."""
        manifests = self.files.take_others()
        for each in self.others:
            each.at(self.kueue.now)
            each.change(manifests)
            each.settle()


def decision_settings(
    configuration: Configuration, kueue: Manifest | None = None, *, fair_sharing: bool = False
) -> SimulationSettings:
    """Read the settings from Kueue's Configuration `kueue` and the section `kueue` of Quotree's. Raises PolicyError."""
    compat = configuration.profile is Profile.COMPAT
    gates = FeatureGates(configuration.kueue.feature_gates, configuration.kueue.version)
    found = read_settings(kueue or {}, gates, compat=compat)
    return replace(found, options=replace(found.options, fair_sharing=True)) if fair_sharing else found


def play(
    inputs: InputObjects,
    configuration: Configuration,
    decisions: SimulationSettings,
    conf: SchedulerConf = SETTLED_CONF,
) -> Simulations:
    """The settled simulations of these files. `conf`: the configuration of Volcano's scheduler."""
    files = SimulatedFiles(configuration)
    manifests = files.accept(inputs)
    simulation = KueueSimulation(decisions, begin([*manifests, *files.others]))
    simulation.add(manifests)
    simulations = Simulations(*other_simulations(simulation.start, configuration, conf), files, simulation)
    simulations.bring()
    return simulations


def has_work(files: InputObjects) -> bool:
    """Whether the files have an object that may use quota, or a queues.yaml of YuniKorn."""
    documents = (*(placed.document for placed in files.objects.values()), *files.rest)
    return any(
        is_submission(each.manifest)
        or group_kind(each.manifest) in (volcano.POD_GROUP, volcano.JOB)
        or (group_kind(each.manifest) == CONFIG_MAP and read_config_map(each.manifest) is not None)
        for each in documents
    )


def other_simulations(
    start: int, configuration: Configuration, conf: SchedulerConf = SETTLED_CONF
) -> tuple[Volcano, YuniKorn]:
    """The simulations of Volcano's and YuniKorn's queues, without any objects yet.

    `start`: their first moment, in nanoseconds.
    """
    strict = configuration.profile is Profile.STRICT
    return Volcano(start, conf), YuniKorn(start, strict=strict, version=configuration.yunikorn.version)


def _called(ref: Ref) -> str:
    """The object as messages name it; only its kind if it has no name."""
    return ref.kind if ref.name == "*" else str(ref)


def _counts(defect: Defect) -> bool:
    return not defect.warning and not defect.field.startswith(_NOT_KUEUES)


def _named(complete: Parsed) -> Manifest:
    """The manifest with the name and namespace that the API server would fill in."""
    manifest, ref = complete.manifest or {}, complete.object.ref
    metadata = manifest.get("metadata") or {}
    own = {"name": ref.name.replace("*", ""), **({"namespace": ref.namespace} if ref.namespace else {})}
    same = all(metadata.get(key) == value for key, value in own.items())
    return manifest if same else {**manifest, "metadata": {**metadata, **own}}
