"""Each alert has a runbook, and each runbook an alert. tests/test_docs_commands.py checks commands of Quotree."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from tests.monitoring.expressions import OF_OTHERS, OF_THE_API_SERVER, RULES, exported, metrics
from tests.profiles import each_case
from webhook.ledger.ledger import SILENT_SECONDS

ROOT = Path(__file__).parents[2]
PAGES = {
    page: (ROOT / page).read_text(encoding="utf-8") for page in ("docs/runbooks.md", "docs/runbooks-reconciler.md")
}
WHERE = {
    name: (page, section)
    for page, text in PAGES.items()
    for name, section in re.findall(r"^## (\w+)\n\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
}
SECTIONS = {name: section for name, (_, section) in WHERE.items()}
LINES = sorted({line for text in PAGES.values() for line in re.findall(r"^ {6}(\S.*)$", text, re.MULTILINE)})
ALERTS = sorted({rule["alert"] for rule in RULES})
KUBECTL = ("get", "describe", "logs", "top", "scale", "apply", "port-forward")


def test_every_alert_has_a_runbook_and_every_runbook_an_alert() -> None:
    assert sorted(SECTIONS) == ALERTS


@each_case("rule", RULES)
def test_an_alert_has_a_severity_a_description_and_a_runbook_url(rule: dict[str, dict[str, str]]) -> None:
    name, notes, severity = str(rule["alert"]), rule["annotations"], rule["labels"]["severity"]

    assert name.startswith("Quotree")
    assert notes["runbook_url"] == f"{WHERE[name][0]}#{name.lower()}"
    assert notes["summary"].endswith(".")
    assert notes["description"].endswith(".")
    assert severity in ("critical", "warning")
    assert re.search(rf"\b{severity}\b", SECTIONS[name].partition(".")[0], re.IGNORECASE)


@each_case("alert", ALERTS)
def test_a_runbook_has_the_items_impact_look_and_do(alert: str) -> None:
    assert re.findall(r"^- \*\*(\w+):\*\*", SECTIONS[alert], re.MULTILINE) == ["Impact", "Look", "Do"]


@each_case("line", LINES)
def test_a_command_of_a_runbook_can_be_typed(line: str) -> None:
    for command in (shlex.split(part) for part in re.split(r" \| ", line)):
        assert command[0] in ("kubectl", "quotree", "curl", "grep", "base64", "openssl")
        if command[0] == "kubectl":
            words = command[3:] if command[1] == "-n" else command[1:]
            assert words[0] in KUBECTL


def test_the_stale_cache_alert_has_the_threshold_of_the_ledger() -> None:
    (rule,) = [rule for rule in RULES if rule["alert"] == "QuotreeCacheStale"]

    assert rule["expr"] == f"quotree_cache_age_seconds > {SILENT_SECONDS:.0f}"


def test_expressions_name_metrics_that_are_exported() -> None:
    named = {name for rule in RULES for name in metrics(rule["expr"])}

    assert len(named) > 25
    assert named - exported() == OF_THE_API_SERVER | OF_OTHERS


def test_metrics_with_kueue_names_are_queried_only_from_quotree() -> None:
    for rule in RULES:
        for selector in re.findall(r"\bkueue_\w+(\{[^}]*\})?", str(rule["expr"])):
            assert 'job="quotree-reconciler-metrics"' in selector
