"""The webhook and `quotree validate` give the same verdict for the same change.

The generated objects have no field that an API server would drop: only `quotree validate` can report such fields.
"""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from analysis.context import Context
from analysis.inputs import InputObjects
from analysis.judgement import judge
from cli.input.against import Against
from cli.input.documents import gather
from policies.configuration.settings import Configuration
from policies.judging.sentence import assertion
from policies.judging.verdict import Verdict
from policies.model.findings import Severity
from policies.model.objects import Node
from policies.mutation.defaults import patch
from policies.mutation.patching import patched
from tests.builders import cluster_queue, cohort, job, local_queue, queue, typed, world
from tests.webhook.reviews import KUEUE, VOLCANO, answer, client, review
from webhook.answer import CAUSES

Manifest = dict[str, Any]

names = st.sampled_from("abcde")
amount = st.sampled_from(["0", "1", "2", "500m", "1Ki", "-1", "2x"])
amounts = st.dictionaries(st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]), amount, max_size=2)


@st.composite
def volcano_queues(draw: st.DrawFn) -> Manifest:
    manifest = queue(draw(names), draw(st.none() | names | st.just("root")))
    for field in ("deserved", "capability"):
        if draw(st.booleans()):
            manifest["spec"][field] = draw(amounts)
    if draw(st.booleans()):
        manifest["spec"]["guarantee"] = {"resource": draw(amounts)}
    manifest["status"] = draw(st.sampled_from([{}, {"state": "Open"}, {"state": "Closed"}]))
    return manifest


@st.composite
def kueue_nodes(draw: st.DrawFn) -> Manifest:
    manifest = draw(st.sampled_from([cohort, cluster_queue]))(draw(names), draw(st.none() | names))
    if draw(st.booleans()):
        quota = {"name": draw(st.sampled_from(["cpu", "memory"])), "nominalQuota": draw(amount)}
        quota |= draw(st.dictionaries(st.sampled_from(["borrowingLimit", "lendingLimit"]), amount, max_size=2))
        group = {"coveredResources": ["cpu"], "flavors": [{"name": draw(names), "resources": [quota]}]}
        manifest["spec"]["resourceGroups"] = [group]
    return manifest


volcano = volcano_queues() | st.builds(job, names, names)
kueue = kueue_nodes() | st.builds(local_queue, names, names)


def differences(path: str, stored: list[Manifest], change: Manifest, gone: bool) -> tuple[object, object]:
    """What the webhook says of the change, and what the command line says of the same in files."""
    held = {typed(manifest).ref: completed(manifest) for manifest in stored}
    forest = world(*held.values())
    new, old = completed(change), held.get(typed(change).ref)
    deleted = gone and old is not None
    response = answer(client(forest), path, review(None if deleted else new, old))
    cluster = Context(Against("cluster"), forest, manifests=held)
    return _of_webhook(response), _of_rules(judge(as_file(new), cluster, Configuration(), delete=deleted).verdict)


def completed(manifest: Manifest) -> Manifest:
    """As the mutating webhook leaves it; the command line does so by itself."""
    return patched(manifest, patch(manifest, world(), Configuration()))


def as_file(manifest: Manifest) -> InputObjects:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "change.json"
        file.write_text(json.dumps(manifest))
        return gather([str(file)])


def _of_webhook(response: dict[str, Any]) -> object:
    causes = response.get("status", {}).get("details", {}).get("causes", [])
    return (
        response["allowed"],
        [(cause["reason"], cause["field"], cause["message"]) for cause in causes],
        len([each for each in response.get("warnings", []) if not each.startswith("... ") and ": fix: " not in each]),
        response["auditAnnotations"].get("rules", ""),
    )


def _of_rules(verdict: Verdict) -> object:
    errors = verdict.of(Severity.ERROR)[:CAUSES]
    rules = dict.fromkeys(judged.rule.id for judged in verdict.findings)
    return (
        verdict.allowed,
        [(j.rule.reason, j.finding.field, f"{assertion(j)} [{j.rule.id}]") for j in errors],
        len(verdict.of(Severity.WARNING)),
        ",".join(rules),
    )


@given(st.lists(volcano, max_size=8), volcano, st.booleans())
def test_webhook_and_validate_agree_on_volcano_objects(stored: list[Manifest], change: Manifest, gone: bool) -> None:
    of_webhook, of_files = differences(VOLCANO, stored, change, gone)

    assert of_webhook == of_files


@given(st.lists(kueue, max_size=8), kueue, st.booleans())
def test_webhook_and_validate_agree_on_kueue_objects(stored: list[Manifest], change: Manifest, gone: bool) -> None:
    of_webhook, of_files = differences(KUEUE, stored, change, gone)

    assert of_webhook == of_files


@given(st.lists(volcano_queues(), max_size=8), volcano_queues())
def test_a_review_does_not_change_the_forest(stored: list[Manifest], change: Manifest) -> None:
    forest = world(*stored)
    before = {obj.ref: obj for obj in forest.objects()}

    answer(client(forest), VOLCANO, review(change))

    assert {obj.ref: obj for obj in forest.objects()} == before
    assert all(isinstance(obj, Node) for obj in before.values())
