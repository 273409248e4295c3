"""The steps of the reversal of a take-over: all objects of Kueue get the values that annotations have kept.

Quotree's reconciler is stopped first. Its APIService goes before it, and comes back with the next take-over. Quotree's
webhook judges new work until Kueue's webhooks are called again, and stays afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policies.dialects.reading import Manifest, listing, mapping, replaced, text
from policies.takeover.objects import (
    CONFIGURATION_BEFORE,
    CONVERSION_BEFORE,
    KUEUES_API,
    OUR_API,
    REPLICAS_BEFORE,
    TAKEN_FROM,
    FoundCluster,
    PlanStep,
    ReleaseNames,
    annotated,
    noted,
    pod_annotations,
    remaining_writer,
    remembered,
    replicas,
    started,
    stopped,
    unready,
    updates,
)
from policies.takeover.taking import CONFIGURATION_KEY, INJECTED, UNASKED, hidden, is_converted, names_us, shown


def steps(found: FoundCluster, names: ReleaseNames) -> tuple[PlanStep, ...]:
    """All steps in their order, including those that are done."""
    return (
        hidden(found, "remove the APIService of Quotree's reconciler", OUR_API, names.reconciler),
        _stop(found, names),
        _start(found, names),
        _convert(found),
        _asked(found, names),
        shown(found, "restore the visibility APIServices", KUEUES_API, names.manager),
        _configure(found, names),
    )


def _stop(found: FoundCluster, names: ReleaseNames) -> PlanStep:
    waits = remaining_writer(found, names.reconciler, names.reconciler_lease)
    return PlanStep(f"scale {names.reconciler} to 0", updates(found, [stopped(found.objects[names.reconciler])]), waits)


def _start(found: FoundCluster, names: ReleaseNames) -> PlanStep:
    """The step that starts Kueue's manager. If it had 0 replicas before, it keeps them."""
    manager = found.objects[names.manager]
    wanted = started(manager, 0) if remembered(manager, REPLICAS_BEFORE) else dict(manager)
    title = f"start {names.manager} with {replicas(wanted)} replicas"
    return PlanStep(title, updates(found, [wanted]), unready(manager))


def _convert(found: FoundCluster) -> PlanStep:
    """The step that returns conversion to Kueue's manager, which runs already."""
    mine = [each for each in found.definitions if is_converted(each)]
    return PlanStep("let Kueue's manager convert again", updates(found, map(_unconverted, mine)))


def _unconverted(definition: Manifest) -> dict[str, Any]:
    """The definition with Kueue's former conversion. If it does not name Quotree any more, it was replaced, for example
    by an upgrade of Kueue, and its conversion stays."""
    if not names_us(definition):
        return noted(definition, CONVERSION_BEFORE, None)
    before = mapping(remembered(definition, CONVERSION_BEFORE))
    made = annotated(noted(definition, CONVERSION_BEFORE, None), INJECTED, text(before.get("injected")))
    return replaced(made, "spec.conversion", before.get("conversion"))


def _asked(found: FoundCluster, names: ReleaseNames) -> PlanStep:
    present = [found.objects[ref] for ref in names.kueue_webhooks if ref in found.objects]
    return PlanStep(
        "let the API server call Kueue's webhooks again", updates(found, map(_unsilenced, present)), settles=True
    )


def _unsilenced(configuration: Manifest) -> dict[str, Any]:
    webhooks = [_without_condition(mapping(each)) for each in listing(configuration.get("webhooks"))]
    return replaced(configuration, "webhooks", webhooks)


def _without_condition(webhook: Mapping[str, Any]) -> dict[str, Any]:
    conditions = listing(webhook.get("matchConditions"))
    kept = [each for each in conditions if mapping(each).get("name") != UNASKED]
    made = {key: value for key, value in webhook.items() if key != "matchConditions"}
    return {**made, "matchConditions": kept} if kept else made


def _configure(found: FoundCluster, names: ReleaseNames) -> PlanStep:
    """The step that restores the reconciler's configuration. It keeps 0 replicas until the next take-over."""
    wanted: list[Manifest] = []
    present = found.objects[names.configuration]
    before = remembered(present, CONFIGURATION_BEFORE)
    if isinstance(before, str):
        data = {**mapping(present.get("data")), CONFIGURATION_KEY: before}
        wanted.append(replaced(noted(present, CONFIGURATION_BEFORE, None), "data", data))
    deployment = found.objects[names.reconciler]
    notes = pod_annotations(deployment)
    if TAKEN_FROM in notes:
        kept = {key: value for key, value in notes.items() if key != TAKEN_FROM}
        wanted.append(replaced(deployment, "spec.template.metadata.annotations", kept or None))
    return PlanStep(f"restore {names.configuration}", updates(found, wanted))
