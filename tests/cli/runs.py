"""Running the command line in tests, and small organisations in files."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner, Result

from cli.group import quotree
from tests import builders
from tests.builders import queue
from tests.schemas import checked

Manifest = Mapping[str, Any]

BAD = queue("eng", deserved="cpu:4")
WORSE = queue("ml", "eng", deserved="cpu:5")
"""Together with BAD one error: the child deserves more than its parent."""
GOOD = queue("ml", "eng", deserved="cpu:3")


def queue_config_map(text: str, header: str = "|", indent: int = 4) -> str:
    """YuniKorn's ConfigMap with this queues.yaml, as people write it. `data` is its end, so more keys may follow."""
    lines = "".join(f"{' ' * indent}{line}\n" if line else "\n" for line in text.split("\n")[:-1])
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yunikorn-configs, namespace: yunikorn}\n"
    return f"{head}data:\n  queues.yaml: {header}\n{lines}"


def run(*arguments: object, stdin: str = "", env: Mapping[str, str | None] | None = None) -> Result:
    """The command in this process. QUOTREE_CONFIG is unset unless the test sets it.

    If it prints JSON of a kind that has a published schema, it obeys that.
    """
    texts = [str(argument) for argument in arguments]
    result = CliRunner().invoke(quotree, texts, input=stdin, env={"QUOTREE_CONFIG": None, **(env or {})})
    if result.stdout.startswith('{\n  "apiVersion"'):
        checked(json.loads(result.stdout))
    return result


def execute(
    *arguments: object, stdin: str = "", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "cli.main", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        env=env,
        check=False,
    )


def report(result: Result) -> dict[str, Any]:
    """The JSON report on standard output, which obeys its published schema."""
    answer = checked(json.loads(result.stdout))
    assert isinstance(answer, dict)
    return answer


def write(path: Path, *manifests: Manifest) -> Path:
    """The manifests as the documents of a YAML file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.dump_all(manifests, Dumper=yaml.CSafeDumper, sort_keys=False))
    return path


def compared(folder: Path, before: Sequence[Manifest], after: Sequence[Manifest]) -> dict[str, Any]:
    """The JSON of `quotree diff` between two sets of files."""
    old, new = write(folder / "old" / "o.yaml", *before), write(folder / "new" / "n.yaml", *after)
    return report(run("diff", new, "--base", f"files:{old}", "-o", "json"))


def kubeconfig(folder: Path, server: str) -> Path:
    """A kubeconfig whose one and current context `lab` is this API server."""
    return write(folder / "kubeconfig", builders.kubeconfig({"server": server}, name="lab"))
