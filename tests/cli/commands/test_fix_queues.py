"""`quotree fix` edits YuniKorn's queues.yaml, bare and in a ConfigMap: only the lines with errors change."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from textwrap import indent

import pytest

from tests.cli.runs import queue_config_map, report, run

QUEUES = """\
# the tree
partitions:
  - name: default
    usergroupresolver: {type: ldap}
    placementrules:
      - name: provided
        create: false
        filter: {type: deny, users: [guest]}
    queues:
      - name: root
        queues:
          - name: ml   # learning

            parent: true
            properties:
              application.sort.policy: fifo
              preemption.policy: disabled
            resources:
              guaranteed: {vcore: 500m, memory: 1536Mi}
              max: {'vcore': 4, memory: "32G"}
            limits:
              - limit: everybody
                users: ["*"]
                maxapplications: 3
"""
SLIPS = (
    ("parent: true", 'parent: "true"', "queue-config-invalid"),
    ("properties:", "propertes:", "queue-config-invalid"),
    ("application.sort.policy: fifo", "aplication.sort.policy: fifo", "queue-setting-ignored"),
    ("application.sort.policy: fifo", "application.sort.policy: fiffo", "queue-setting-ignored"),
    ("preemption.policy: disabled", "preemption.policy: dissabled", "queue-setting-ignored"),
    ("resources:", "resource:", "queue-config-invalid"),
    ("vcore: 500m", "vcore: 0.5", "queue-config-invalid"),
    ("1536Mi", "1.5Gi", "queue-config-invalid"),
    ('"32G"', '"32GB"', "queue-config-invalid"),
    ("'vcore'", "'cpu'", "queue-quota-without-effect"),
    ("memory: 1536Mi", "Memory: 1536Mi", "queue-quota-without-effect"),
    ("create: false", "create: flase", "queue-config-invalid"),
    ("name: provided", "name: provided1", "placement-rule-broken"),
    ("type: deny", "type: dney", "placement-rule-broken"),
    ("type: ldap", "type: ldpa", "queue-setting-ignored"),
    ("maxapplications: 3", "maxapplications: '3'", "queue-config-invalid"),
)


def bare(text: str) -> str:
    return f"# bare\n---\n{text}"


def block(text: str) -> str:
    return f"{queue_config_map(text, indent=6)}  log.level: INFO # more\n---\n"


def windows(text: str) -> str:
    return block(text).replace("\n", "\r\n")


def as_json(text: str) -> str:
    meta = {"name": "yunikorn-configs", "namespace": "yunikorn"}
    whole = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"queues.yaml": text}}
    return json.dumps(whole, indent=1)


def values(text: str) -> str:
    return f"# of the chart\nyunikornDefaults:\n  queues.yaml: |\n{indent(text, ' ' * 4)}replicaCount: 1\n"


def release(text: str) -> str:
    head = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: yunikorn}\nspec:\n  values:\n"
    return head + indent(values(text), " " * 4)


LAYOUTS = pytest.mark.parametrize("layout", [bare, block, windows, as_json, values, release])


@LAYOUTS
def test_all_errors_are_fixed_and_nothing_else_changes(tmp_path: Path, layout: Callable[[str], str]) -> None:
    file = tmp_path / "a.yaml"
    wrong = QUEUES
    for right, slip, _ in SLIPS:
        wrong = wrong.replace(right, slip, 1)
    file.write_bytes(layout(wrong).encode())

    run("fix", file, "--write")

    assert file.read_bytes() == layout(QUEUES).encode()
    assert rules(file) == set()


@pytest.mark.parametrize(("right", "slip", "rule"), SLIPS)
def test_each_error_alone_is_fixed(tmp_path: Path, right: str, slip: str, rule: str) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(block(QUEUES.replace(right, slip, 1)))

    assert rule in rules(file)
    assert run("fix", file, "--write").stderr.startswith("1 fix in 1 file written")
    assert file.read_text() == block(QUEUES)


@pytest.mark.parametrize(
    ("right", "slip"),
    [
        ("max: {", "max: {vcores: 4, "),
        ("memory: 1536Mi", "memory: 36m"),
        ("memory: 1536Mi", "memory: 64K"),
        ("memory: 1536Mi", "memory: -1"),
        ("memory: 1536Mi", "memory: lots"),
        ("parent: true", "parent: maybe"),
    ],
)
def test_ambiguous_values_are_not_changed(tmp_path: Path, right: str, slip: str) -> None:
    file = tmp_path / "a.yaml"
    wrong = block(QUEUES.replace(right, slip, 1))
    file.write_text(wrong)

    assert run("fix", file, "--write").stderr.startswith("nothing to fix; 1 finding has to be fixed by hand")
    assert file.read_text() == wrong


def test_second_wrong_name_of_the_same_resource_is_not_fixed(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(block(QUEUES.replace("'vcore'", "'cpu'").replace("max: {", "max: {vcores: 2, ")))

    shown = run("fix", file, "--write").stderr

    assert "[queue-quota-without-effect]: vcore is set already\n" in shown
    assert "1 fix in 1 file written" in shown


def test_folded_yaml_text_is_not_changed(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    flow = 'partitions: [{name: default, queues: [{name: root, queues: [{name: ml, parent: "true"}]}]}]'
    file.write_text(block("x\n").replace("queues.yaml: |\n      x\n", f"queues.yaml: >\n      {flow}\n"))

    assert "only a plain or quoted value is replaced" in run("fix", file).stderr


def rules(file: Path) -> set[str]:
    return {each["rule"] for each in report(run("validate", file, "-o", "json"))["findings"] if each["fix"]}
