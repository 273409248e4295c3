"""Starts simulations of files, reads the settings of the engine, and reports problems of both."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from analysis.documents import Document, Unreadable, parse
from analysis.simulation import SimulatedFiles, Simulations, decision_settings, play
from cli.exits import Exit, Misused, strongest
from cli.input.documents import read
from cli.input.options import EngineOptions
from cli.input.roots import read_organisation
from cli.input.selection import InputSelection
from cli.input.settings import settings
from cli.output import note
from cli.progress import stage
from policies.configuration.kueue.reading import GROUP, KIND
from policies.configuration.settings import Configuration
from policies.dialects.core import CONFIG_MAP
from policies.dialects.reading import Manifest, mapping
from policies.model.errors import BadConfiguration, PolicyError
from policies.takeover.translation import KEY
from policies.text.positions import BadText
from policies.text.yaml_values import single
from scheduling.impact.elsewhere import OtherSimulation
from scheduling.simulation.settings import SimulationSettings
from scheduling.simulation.simulation import KueueSimulation
from scheduling.volcano.scheduler_conf import SETTLED_CONF, VOLCANO_CONF, SchedulerConf, conf_document, read_conf


def start(paths: Sequence[str], engine: EngineOptions, conf: SchedulerConf = SETTLED_CONF) -> Simulations:
    """The simulations of these files, run until nothing changes. Raises Misused."""
    configuration = settings(engine.config, paths, engine.profile)
    inputs = read_organisation(InputSelection(tuple(paths)))
    stage("simulating")
    return play(inputs, configuration, engine_settings(engine, configuration), conf)


def scheduler_conf(law: str, file: str | None) -> SchedulerConf:
    """The configuration of Volcano's scheduler. Raises Misused.

    `law`: the value of --law, which is used if there is no file.
    `file`: a volcano-scheduler.conf, or a ConfigMap with it.
    """
    if file is None:
        return VOLCANO_CONF if law == "volcano" else SETTLED_CONF
    try:
        return read_conf(conf_document(single(Path(file).read_text(encoding="utf-8"))))
    except (OSError, UnicodeDecodeError, BadText, BadConfiguration) as error:
        at = f"{error.at}: " if isinstance(error, BadConfiguration) and error.at else ""
        raise Misused(f"{file}: {at}{error}") from error


def note_problems(files: SimulatedFiles, simulation: KueueSimulation, others: Sequence[OtherSimulation] = ()) -> Exit:
    """Note unreadable inputs and what is not simulated on standard error. Returns the exit code."""
    problems = [problem for each in others for problem in each.problems]
    for item in files.unreadable:
        note(str(item))
    for item in files.refused:
        note(f"{item.place}: {item.message}")
    for problem in problems:
        note(problem)
    for section in simulation.settings.unplayed:
        note(f"{section} is not simulated")
    unsettled = simulation.unsettled or any(each.unsettled for each in others)
    if unsettled:
        note(
            "the simulation was stopped, since it never settles: the last workloads preempt each other again and again"
        )
    codes = {Exit.UNREADABLE: files.unreadable, Exit.FINDINGS: files.refused or problems, Exit.UNJUDGED: unsettled}
    return strongest(code for code, holds in codes.items() if holds)


def engine_settings(engine: EngineOptions, configuration: Configuration) -> SimulationSettings:
    """The settings from Kueue's Configuration and the section `kueue` of Quotree's. Raises Misused with the key."""
    document = _kueue_configuration(engine.kueue_config) if engine.kueue_config else None
    try:
        return decision_settings(
            configuration, document.manifest if document else None, fair_sharing=engine.fair_sharing
        )
    except PolicyError as error:
        assert document is not None
        raise Misused(f"{document.place(getattr(error, 'at', ''))}: {error}") from error


def _kueue_configuration(file: str) -> Document:
    if not os.path.isfile(file):
        raise Misused(f"{file}: no such file")
    documents, unreadable = read([file], io.BytesIO())
    for failure in unreadable:
        raise Misused(f"{failure.place}: {failure.message}")
    found = [each for document in documents for each in _configurations(document)]
    if len(found) != 1:
        raise Misused(
            f"{file}: expected one {KIND} of {GROUP}, as Kueue's manager reads it, or a ConfigMap with the key {KEY}; "
            f"found {len(found)}"
        )
    return found[0]


def _configurations(document: Document) -> Iterator[Document]:
    """Yield the document if it is a Configuration of Kueue, or the one in it if it is Kueue's ConfigMap."""
    if _is_kueues(document.manifest):
        yield document
    written = mapping(document.manifest.get("data")).get(KEY)
    if document.manifest.get("kind") == CONFIG_MAP.kind and isinstance(written, str):
        for found in parse(f"{document.source}: {KEY}", written.encode()):
            if isinstance(found, Unreadable):
                raise Misused(f"{found.place}: {found.message}")
            if _is_kueues(found.manifest):
                yield found


def _is_kueues(manifest: Manifest) -> bool:
    return manifest.get("kind") == KIND and str(manifest.get("apiVersion")).startswith(f"{GROUP}/")
