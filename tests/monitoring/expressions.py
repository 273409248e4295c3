"""What the queries of alerts and dashboards name, and what the programs export."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cluster.metrics import Type
from generators.alert_rules import SOURCES, groups
from reconciler.metrics.catalogue import families
from webhook.metrics import FAMILIES

ROOT = Path(__file__).parents[2]
DASHBOARDS = sorted((ROOT / "monitoring" / "dashboards").glob("*.json"))
RULES: list[dict[str, Any]] = [rule for program in SOURCES for group in groups(program) for rule in group["rules"]]
OF_THE_API_SERVER = {"apiserver_admission_webhook_rejection_count", "apiserver_admission_webhook_fail_open_count"}
OF_OTHERS = {"up", "kube_deployment_spec_replicas", "kube_deployment_status_replicas_available"}
OF_THE_PROCESS = {"process_cpu_seconds_total", "process_resident_memory_bytes"}
_OURS = re.compile(r"\b((?:quotree|kueue|apiserver|process|kube)_\w+|up)\b(?!\")")
_TEXTS = re.compile(r'"[^"]*"')
_LISTS = re.compile(r"\b(?:by|on)\s*\([^)]*\)")


def metrics(expression: str) -> set[str]:
    """The metrics that an expression names."""
    return set(_OURS.findall(_LISTS.sub("", _TEXTS.sub("", expression))))


def exported() -> set[str]:
    """All names of series that Quotree's programs declare."""
    declared = (*families(), *FAMILIES)
    histograms = {family.name for family in declared if family.type is Type.HISTOGRAM}
    return {family.name for family in declared} - histograms | {f"{name}_bucket" for name in histograms}


def queries() -> Iterator[tuple[str, str]]:
    """Where each query of a dashboard stands, and the query as Grafana would send it."""
    for file in DASHBOARDS:
        board = json.loads(file.read_text(encoding="utf-8"))
        for panel in board["panels"]:
            for target in panel["targets"]:
                yield f"{board['uid']}: {panel['title']}: {target['refId']}", filled(target["expr"])


def filled(query: str) -> str:
    """With a range for Grafana's own variable, and all values for the others."""
    return re.sub(r"\$\w+", ".*", query.replace("$__rate_interval", "1m"))
