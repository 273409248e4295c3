"""`quotree uninstall`, as far as it needs no cluster; tests/apiserver/test_uninstall.py has the rest."""

from __future__ import annotations

from pathlib import Path

from cli.exits import Exit
from tests.cli.runs import run


def test_nothing_is_removed_where_nobody_can_be_asked() -> None:
    done = run("uninstall")

    assert done.exit_code == Exit.USAGE
    assert "add --yes, or --dry-run to see the plan" in done.stderr


def test_a_cluster_is_needed(tmp_path: Path) -> None:
    missing = tmp_path / "kubeconfig"

    for arguments in (["--yes"], ["--dry-run"]):
        done = run("uninstall", *arguments, "--kubeconfig", missing)
        assert done.exit_code == Exit.UNJUDGED
        assert str(missing) in done.stderr
