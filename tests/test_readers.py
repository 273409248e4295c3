"""There is one bounded reader of YAML and one reader of Pods, and no module bypasses them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = (
    "policies",
    "scheduling",
    "reconciler",
    "webhook",
    "certs",
    "cluster",
    "analysis",
    "audit",
    "dashboard",
    "cli",
    "examples",
)
READER = ROOT / "policies" / "text" / "yaml_events.py"
WRITERS = tuple(
    ROOT / name for name in ("cli/commands/install.py", "cli/report/formats/yaml.py", "dashboard/what_if/manifests.py")
)
"""Modules that write YAML."""
_WRITING = {"CSafeDumper", "SafeDumper", "ScalarNode", "dump", "dump_all"}
_UNBOUNDED = {"load_kube_config", "new_client_from_config", "KubeConfigMerger", "list_kube_config_contexts"}
"""What in the `kubernetes` package reads YAML by itself."""


def modules(words: Iterable[str]) -> Iterator[tuple[Path, ast.AST]]:
    """Those in whose text one of the words stands; parsing all of them takes seconds."""
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            if any(word in text for word in words):
                yield path, ast.parse(text)


def names_of_yaml(tree: ast.AST) -> set[str]:
    """What a module takes from the YAML library."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in ("yaml", "ruamel"):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {"*" for alias in node.names if alias.name.partition(".")[0] == "ruamel"}
            found |= {"import" for alias in node.names if alias.name.partition(".")[0] == "yaml"}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "yaml":
            found.add(node.attr)
    return found


def names(tree: ast.AST) -> set[str]:
    found = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    found |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return found | {alias.name for node in imports for alias in node.names}


def test_only_the_reader_reads_yaml() -> None:
    for path, tree in modules(("yaml", "ruamel")):
        used = names_of_yaml(tree)
        if path in WRITERS:
            assert used <= _WRITING | {"import"}, path
        elif path != READER:
            assert not used, f"{path} uses {used} of the YAML library; policies/text has the readers"


def test_unbounded_readers_of_the_kubernetes_package_are_not_used() -> None:
    for path, tree in modules(_UNBOUNDED):
        used = names(tree) & _UNBOUNDED
        allowed = {"KubeConfigMerger"} if path == ROOT / "cluster" / "kubeconfig.py" else set()
        assert used <= allowed, f"{path} uses {used}; cluster/kubeconfig.py reads kubeconfigs"


@pytest.mark.parametrize(
    "source",
    ["import yaml\nyaml.safe_load(x)", "from yaml import load", "import yaml as y", "from yaml.cyaml import CLoader"],
)
def test_a_module_that_bypasses_the_reader_is_found(source: str) -> None:
    assert names_of_yaml(ast.parse(source))


def test_the_node_of_a_pod_is_read_in_one_place() -> None:
    sources = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    found = [str(path.relative_to(ROOT)) for path in sources if 'get("nodeName")' in path.read_text(encoding="utf-8")]

    assert found == ["policies/dialects/pod_reading.py"]
