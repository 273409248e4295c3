"""Volcano's own webhook cases, judged under `compat`.

A refused case counts when the rule refuses it that its reason stands for; where it gives no reason, any refusal counts.
The objects are taken as they are: the originals call the webhook without a schema before it, so that what only a schema
refuses counts for nothing where a case is to pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from policies.configuration.settings import Configuration, VolcanoSettings
from policies.dialects import read
from policies.judge import evaluate
from policies.judging.rule import Proposal, propose
from policies.model.change import Change, ChangeOperation
from policies.model.findings import Profile, Severity
from tests.builders import typed, world
from tests.conformance.suite import Suite, suite
from webhook.review import BadReview

RULES = {
    "parent-is-self": "parent-cycle",
    "too-deep": "depth-exceeded",
    "parent-has-pods": "parent-with-workloads",
    "has-children": "delete-with-children",
    "has-pods": "protected-queue",
    "protected-queue": "protected-queue",
    "capability-over-ancestor": "capability-exceeds-ancestor",
    "capability-under-descendant": "capability-exceeds-ancestor",
    "guarantee-sum-over-parent": "children-guarantee-exceeds-parent",
    "deserved-sum-over-parent": "children-deserved-exceed-parent",
    "deserved-under-guarantee": "guarantee-exceeds-deserved",
    "deserved-over-capability": "deserved-exceeds-capability",
    "negative-quantity": "bad-quantity",
    "bad-state": "queue-state-unsettable",
    "hierarchy-weights-length": "hierarchy-annotations-invalid",
    "hierarchy-weight-not-positive": "hierarchy-annotations-invalid",
    "hierarchy-weight-not-a-number": "hierarchy-annotations-invalid",
    "hierarchy-sub-path": "hierarchy-path-nested",
    "queue-missing": "queue-not-open",
    "root-queue": "submit-to-parent",
    "not-a-leaf": "submit-to-parent",
}
NO_DECISION = ("bad-operation",)
"""Reasons for which Quotree gives no verdict: such a request is answered with an error, so it does not pass either."""
InputObjects = Mapping[str, Any]


def suites(folder: Path) -> Iterator[Suite]:
    for name, make in (
        ("queues-validate", _review),
        ("queues-children-constraints", _constraints),
        ("podgroups-validate", _review),
        ("jobs-validate-queue", _job),
        ("jobs-validate-update", _job_update),
    ):
        path = folder / "volcano" / f"{name}.json"
        if path.is_file():
            yield suite("volcano", path, partial(_check, make), _unknown_reason)


def _unknown_reason(case: InputObjects) -> str:
    reason = case["expect"].get("reason")
    known = reason is None or reason in RULES or reason in NO_DECISION
    return "" if known else f"the reason {reason} is unknown here"


def _check(make: Callable[[InputObjects], Proposal], case: InputObjects) -> str | None:
    expect = case["expect"]
    try:
        proposal = make(case["given"])
    except BadReview as error:
        return f"expected an answer, got: {error}" if expect["allowed"] else None
    errors = {judged.rule.id for judged in evaluate(proposal).of(Severity.ERROR)}
    by_rules = errors - {"bad-structure"}
    if expect["allowed"]:
        return f"expected to pass, refused by {', '.join(sorted(by_rules))}" if by_rules else None
    if expect.get("reason") is None:
        return None if errors else "expected a refusal"
    rule = RULES.get(expect["reason"], "a refusal")
    return None if rule in errors else f"expected {rule}, got {', '.join(sorted(errors)) or 'no refusal'}"


def _configuration(inputs: InputObjects) -> Configuration:
    config = inputs.get("config", {})
    return Configuration(
        profile=Profile.COMPAT,
        volcano=VolcanoSettings(
            max_queue_depth=config.get("maxQueueDepth", 5),
            root_queue_protection=config.get("enableRootQueueProtection", True),
            queue_allocated_pods_check=config.get("enableQueueAllocatedPodsCheck", False),
        ),
    )


def _review(inputs: InputObjects) -> Proposal:
    stored = world(*(inputs["queues"] or ()))
    request = inputs["admissionReview"]["request"]
    old, new = request.get("oldObject"), request.get("object")
    if request["operation"] not in list(ChangeOperation):
        raise BadReview(f"the operation {request['operation']!r} is not judged")
    if request["operation"] == "DELETE":
        named = (queue for queue in stored.nodes() if queue.ref.name == request["name"])
        before = read(old) if old else next(named, None) or read(new)
        return propose(stored, [Change(before, None)], _configuration(inputs))
    after = typed(new)
    before = (read(old) if old else stored.get(after.ref)) if request["operation"] == "UPDATE" else None
    return propose(stored, [Change(before, after)], _configuration(inputs))


def _constraints(inputs: InputObjects) -> Proposal:
    """The children are exactly those given: a stored queue that names the parent is no child of it in this case."""
    parent = inputs["parent"]["metadata"]["name"]
    named = {child["metadata"]["name"] for child in inputs["children"] or ()}
    others = [queue for queue in inputs["queues"] or () if queue["metadata"]["name"] not in named]
    queues = [queue for queue in others if (queue.get("spec") or {}).get("parent") != parent]
    children = [{**child, "spec": {**child["spec"], "parent": parent}} for child in inputs["children"] or ()]
    return propose(world(*queues, *children), [Change(None, read(inputs["parent"]))], _configuration(inputs))


def _job(inputs: InputObjects) -> Proposal:
    return propose(world(*(inputs["queues"] or ())), [Change(None, read(inputs["job"]))], _configuration(inputs))


def _job_update(inputs: InputObjects) -> Proposal:
    change = Change(read(inputs["oldJob"]), read(inputs["job"]))
    return propose(world(*inputs.get("queues", [])), [change], _configuration(inputs))
