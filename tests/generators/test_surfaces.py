"""The records of the surfaces that users rely on, and the table of parts."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

import generators
from cli.commands.validate import validate
from cli.group import quotree
from generators import __main__ as command
from generators import surfaces
from generators.chart.options import all_options
from generators.chart.source import value
from generators.surfaces import configuration
from generators.surfaces.parts import PARTS, Level, level_of
from tests.profiles import each_case

ROOT = Path(__file__).parents[2]
COMPONENTS = ROOT / "manifests" / "components"
ALPHA = [part for part in PARTS if part.level is Level.ALPHA]


class Tree:
    """A tree with one record, `docs/surfaces/things.txt`, whose entries a test chooses."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.record = root / "docs" / "surfaces" / "things.txt"
        self._monkeypatch = monkeypatch
        for module in (command, surfaces):
            monkeypatch.setattr(module, "ROOT", root)
        monkeypatch.setattr(generators, "GENERATORS", [surfaces.generate])
        monkeypatch.setattr(generators, "BLOCKS", [])

    def has(self, level: Level, *entries: str) -> None:
        self._monkeypatch.setattr(surfaces, "SURFACES", {"things": (level, lambda: entries)})

    def run(self, *arguments: str) -> int:
        self._monkeypatch.setattr(sys, "argv", ["generators", *arguments])
        return command.main()

    @property
    def lines(self) -> list[str]:
        return self.record.read_text().splitlines()[1:]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    tree = Tree(tmp_path, monkeypatch)
    tree.has(Level.STABLE, "--one", "--two")
    assert tree.run() == 0
    return tree


def test_a_new_entry_only_needs_make_generate(tree: Tree) -> None:
    tree.has(Level.STABLE, "--one", "--three", "--two")

    assert tree.run("--check") == 1
    assert tree.run() == 0
    assert tree.lines == ["stable --one", "stable --three", "stable --two"]
    assert tree.run("--check") == 0


@pytest.mark.parametrize("level", [Level.STABLE, Level.BETA])
def test_a_removed_entry_stays_recorded_and_fails(tree: Tree, level: Level, capsys: pytest.CaptureFixture[str]) -> None:
    tree.record.unlink()
    tree.has(level, "--one", "--two")
    assert tree.run() == 0
    tree.has(level, "--one")

    assert [tree.run("--check"), tree.run(), tree.run("--check")] == [1, 1, 1]
    assert tree.lines == [f"{level:<7}--one", f"{level:<7}--two"]
    told = capsys.readouterr().err
    assert f"docs/surfaces/things.txt: `--two` is {level}, and it is gone or was changed." in told
    assert "deprecate it first" in told


def test_an_entry_is_withdrawn_by_deleting_its_line(tree: Tree) -> None:
    tree.has(Level.STABLE, "--one")
    tree.record.write_text(tree.record.read_text().replace("stable --two\n", ""))

    assert tree.run("--check") == 0


def test_an_alpha_entry_may_be_removed(tree: Tree) -> None:
    tree.record.unlink()
    tree.has(Level.ALPHA, "--one", "--two")
    assert tree.run() == 0
    tree.has(Level.ALPHA, "--one")

    assert tree.run() == 0
    assert tree.lines == ["alpha  --one"]


def test_a_lower_stability_level_fails_and_a_higher_one_does_not(tree: Tree) -> None:
    tree.has(Level.BETA, "--one", "--two")
    assert tree.run() == 1

    tree.record.unlink()
    assert tree.run() == 0
    tree.has(Level.STABLE, "--one", "--two")
    assert tree.run() == 0
    assert tree.lines == ["stable --one", "stable --two"]


@each_case(
    ("name", "entry"),
    [
        ("chart", ".webhook.replicas integer"),
        ("commands", "quotree validate --fail-on VALUE"),
        ("configuration", "volcano.maxQueueDepth default: 5"),
        ("configuration", "rules[].from"),
        ("configuration", "roots[].against"),
        ("configuration", "reconciler.jobs[].podSets[].counts[].atMost"),
        ("configuration-of-kueue", "fairSharing.enable"),
        ("custom-resources", "clusterqueues.kueue.x-k8s.io/v1beta2 .spec.cohortName string"),
        ("environment", "QUOTREE_CONFIG"),
        ("exit-codes", "3 unreadable"),
        ("marks", "ignore.quotree.dev/"),
        ("marks", "quotree.dev/queue-in-use"),
        ("marks", "yunikorn.quotree.dev/admission"),
        ("metrics", "quotree_admission_requests_total{result}"),
        ("paths", "audit /v1/findings"),
        ("paths", "reconciler /v1/tree"),
        ("paths", "reconciler /v1/trees"),
        ("paths", "reconciler /v1/namespaces/NAME/workloads/NAME/explanation"),
        ("reports", "report .findings[].rule string, always"),
        ("rules", "parent-cycle"),
    ],
)
def test_each_surface_has_its_entries(name: str, entry: str) -> None:
    found = surfaces.recorded(name)

    assert [each for each in found if each == entry or each.endswith(entry)]


def test_an_option_that_a_command_loses_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validate, "params", [each for each in validate.params if each.name != "fail_on"])

    told = [sentence for sentence in surfaces.withdrawn() if "validate --fail-on" in sentence]

    assert any("`quotree validate --fail-on VALUE` is stable" in sentence for sentence in told)


def test_every_key_that_the_code_reads_is_recorded() -> None:
    recorded = {part.removesuffix("[]") for key in surfaces.recorded("configuration") for part in key.split(".")}
    readers = [ROOT / "cli/input/workspace.py", *(ROOT / "policies/configuration").glob("*.py")]
    read = {key for file in readers for key in _keys_read(ast.parse(file.read_text(encoding="utf-8")))}

    assert len(read) > 60
    assert read - recorded == set()


def _keys_read(module: ast.AST) -> Iterable[str]:
    """The keys that a module reads from a Section: the first argument of its methods, and those of `expect`."""
    methods = {"text", "optional", "day", "flag", "number", "section", "sections", "texts", "labels", "value"}
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            given = node.args if node.func.attr == "expect" else node.args[:1] if node.func.attr in methods else []
            for each in given:
                if isinstance(each, ast.Constant) and isinstance(each.value, str):
                    yield each.value


def test_each_component_is_in_one_part() -> None:
    named = sorted(component for part in PARTS for component in part.components)

    assert sorted(folder.name for folder in COMPONENTS.iterdir()) == named


def test_each_owned_prefix_has_an_entry() -> None:
    entries = [entry for name in surfaces.SURFACES for entry in surfaces.recorded(name)]
    starts = [start for part in PARTS for start in part.owns]

    assert [start for start in starts if not any(entry.startswith(start) for entry in entries)] == []


def test_the_longest_match_decides_the_level() -> None:
    assert level_of("quotree serve webhook --certs VALUE", Level.BETA) is Level.STABLE
    assert level_of("quotree serve webhook --gates VALUE", Level.BETA) is Level.ALPHA
    assert level_of("quotree diff", Level.BETA) is Level.BETA


@pytest.mark.parametrize("part", ALPHA, ids=lambda part: part.name)
def test_alpha_parts_are_off_by_default(part: Any) -> None:
    defaults = configuration.defaults()
    chart = {option.path: option.default for option in all_options()}

    assert part.components or part.settings or part.flags
    assert [key for key in part.settings if defaults[key] not in (False, "off", [])] == []
    assert [flag for flag in part.flags if _given(_default(flag))] == []
    assert [each for each in part.components if each in _installed_by_default()] == []
    assert [each for each in part.components if chart[value(each)] is not False] == []


def _given(default: Any) -> bool:
    """Whether an option has an effect. A reconciler of the part `default` decides for all trees without a part."""
    return isinstance(default, str | bool | tuple) and default not in ("", False, (), "default")


def _default(flag: str) -> Any:
    *words, name = flag.split()
    found: click.Command = quotree
    for word in words:
        assert isinstance(found, click.Group)
        inner = found.get_command(click.Context(found), word)
        assert inner is not None
        found = inner
    (option,) = [each for each in found.params if name in each.opts]
    return option.get_default(click.Context(found))


def _installed_by_default() -> set[str]:
    """The components that a kustomization outside of manifests/components includes."""
    found = set()
    for file in (ROOT / "manifests").glob("*/kustomization.yaml"):
        document = yaml.safe_load(file.read_text(encoding="utf-8"))
        found |= {path.rpartition("/")[2] for path in document.get("components", ())}
    return found


def test_the_reconciler_component_counts_as_installed_by_default() -> None:
    assert "reconciler" in _installed_by_default()
