"""What a change does, and its order, as YAML."""

from __future__ import annotations

from cli.input.impact import Impact
from cli.input.rollout import Rollout
from cli.report.changes.impact_json import impact_answer
from cli.report.changes.rollout_json import rollout_answer
from cli.report.formats.yaml import document


def impact(found: Impact) -> str:
    return document(impact_answer(found))


def rollout(found: Rollout) -> str:
    return document(rollout_answer(found))
