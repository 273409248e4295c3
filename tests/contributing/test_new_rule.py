"""docs/extend-the-checks.md, "A new rule": one file, its cases and its example; the rest is automatic."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.contributing.scratch import Scratch, copy_to

pytestmark = pytest.mark.apiserver

RULE = '''
from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.volcano import QUEUE, Queue
from policies.judging.rule import Proposal, rule
from policies.model import fields
from policies.model.findings import Finding


@rule(
    "guarantee-of-zero",
    source="Volcano: guarantee of a queue",
    kinds=(QUEUE,),
    alone=True,
    no_cel="does no harm while the webhook is down",
)
def guarantee_of_zero(proposal: Proposal) -> Iterator[Finding]:
    """A queue is guaranteed none of a resource.

    Why it is refused: it looks like a promise and promises nothing; most often a digit is missing.
    Example: `guarantee.resource: {cpu: 0}`.
    Fix: write the amount, or remove the resource.
    """
    for _, queue in proposal.changed(Queue):
        for resource, guarantee in sorted(queue.guarantee.items()):
            if not guarantee.nano:
                field = fields.join("spec.guarantee.resource", resource)
                message = f"is guaranteed {resource}=0, which promises nothing"
                yield Finding(queue.ref, field, message, fix=f"write the amount, or remove {field}", subject=resource)
'''
CASES = """
- name: an amount is a promise
  apply:
    - apiVersion: scheduling.volcano.sh/v1beta1
      kind: Queue
      metadata: {name: eng}
      spec: {deserved: {cpu: 1}, guarantee: {resource: {cpu: 1}}}
  findings: []

- name: none of a resource is no promise
  apply:
    - apiVersion: scheduling.volcano.sh/v1beta1
      kind: Queue
      metadata: {name: eng}
      spec: {deserved: {cpu: 0}, guarantee: {resource: {cpu: 0}}}
  findings:
    - {object: Queue eng, field: spec.guarantee.resource.cpu, severity: error, says: promises nothing; write the amount}
"""
CHANGE = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: robotics}
spec:
  parent: root
  deserved: {cpu: 0}
  guarantee: {resource: {cpu: 0}}
"""
EXPECT = """
apiVersion: quotree.dev/v1alpha1
kind: Example
metadata: {name: volcano-guarantee-of-zero}
spec:
  about: "A queue is guaranteed cpu=0."
  verb: apply
  layer: webhook
  rules: [guarantee-of-zero]
  says: [is guaranteed cpu=0]
"""
EXAMPLE = "examples/refused/volcano-guarantee-of-zero"


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    made = copy_to(tmp_path, "tests", "examples", "docs", "manifests", "charts", "monitoring", "pyproject.toml")
    made.write("policies/rules/volcano/guarantee_of_zero.py", RULE)
    made.write("tests/policies/rules/cases/guarantee-of-zero.yaml", CASES)
    made.write(f"{EXAMPLE}/change.yaml", CHANGE)
    made.write(f"{EXAMPLE}/expect.yaml", EXPECT)
    return made


def test_a_new_rule_is_listed_documented_tested_and_denies_its_example(scratch: Scratch) -> None:
    generated = scratch.run("generators").splitlines()
    files = ("tests/policies/rules/test_cases.py", "tests/policies/rules/test_examples.py")
    tested = scratch.run("pytest", "-q", "-p", "no:cacheprovider", *files)
    listed = scratch.run("cli.main", "rules")
    page = scratch.run("cli.main", "explain", "guarantee-of-zero")
    accepted, change = "--against=files:examples/accepted", f"{EXAMPLE}/change.yaml"
    found = json.loads(scratch.run("cli.main", "validate", change, accepted, "--fail-on=never", "-o", "json"))

    pages = ["docs/rules/guarantee-of-zero.md", "docs/rules/README.md"]
    assert generated == [f"wrote {file}" for file in ("policies/rules/kinds.json", *pages, "docs/surfaces/rules.txt")]
    assert " passed" in tested
    assert "guarantee-of-zero" in listed
    assert "most often a digit is missing" in page
    assert [it["rule"] for it in found["findings"] if it["severity"] == "error"] == ["guarantee-of-zero"]
