"""Generates the tables in docs/metrics.md and docs/kueue-metrics.md from the metrics that the programs declare."""

from __future__ import annotations

from collections.abc import Iterable

from audit.metrics import FAMILIES as OF_THE_AUDIT
from cluster.metrics import Family, Stability
from generators.files import table
from generators.surfaces.parts import Level, level_of
from reconciler.metrics.catalogue import families
from webhook.metrics import FAMILIES as OF_THE_WEBHOOK

PAGE = "docs/metrics.md"
PAGE_OF_KUEUE = "docs/kueue-metrics.md"
_BLOCKS = {
    "metrics-process": ("quotree_reconciler_",),
    "metrics-observe": ("quotree_observe_",),
    "metrics-kueue": ("kueue_", "multikueue_"),
    "metrics-workers": ("quotree_multikueue_",),
    "metrics-gates": ("quotree_gates_",),
    "metrics-yunikorn": ("yunikorn_",),
    "metrics-volcano": ("volcano_",),
    "metrics-volcano-quota": ("quotree_volcano_",),
}
"""The tables of the reconciler's metrics, each with the prefixes of their names."""
_HEAD = "| name | type | labels | stability | says |"


def generate() -> dict[str, dict[str, str]]:
    tables = of_the_reconciler(families())
    kueue = {"metrics-kueue": tables.pop("metrics-kueue")}
    others = {"metrics-webhook": metric_table(OF_THE_WEBHOOK), "metrics-audit": metric_table(OF_THE_AUDIT)}
    return {PAGE: {**tables, **others}, PAGE_OF_KUEUE: kueue}


def of_the_reconciler(declared: Iterable[Family]) -> dict[str, str]:
    """The tables of metrics, by block. Raises ValueError for a metric that belongs to no table."""
    found: dict[str, list[Family]] = {block: [] for block in _BLOCKS}
    for family in declared:
        block = next((block for block, prefixes in _BLOCKS.items() if family.name.startswith(prefixes)), None)
        if block is None:
            known = [prefix for prefixes in _BLOCKS.values() for prefix in prefixes]
            raise ValueError(f"{family.name}: no table of {PAGE} has such names; they begin with {known}")
        found[block].append(family)
    return {block: metric_table(those) for block, those in found.items()}


def metric_table(declared: Iterable[Family]) -> str:
    return table(_HEAD, map(_row, sorted(declared, key=lambda family: family.name)))


def _row(family: Family) -> tuple[str, ...]:
    labels = ", ".join(f"`{label}`" for label in family.labels)
    values = ", ".join(f"`{value}`" for value in dict.fromkeys(value for values in family.initial for value in values))
    says = f"{family.help} One of {values}." if values else family.help
    return f"`{family.name}`", family.type, labels, stability_of(family), says


def stability_of(family: Family) -> str:
    """The stability level of a metric of Quotree, or the project that the metric comes from."""
    return level_of(family.name, Level.BETA) if family.stability is Stability.OURS else family.stability
