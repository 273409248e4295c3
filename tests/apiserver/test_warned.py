"""What the projects take without a word is stored, and kubectl shows what is odd about it, with a cure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.apiserver import build
from tests.apiserver.guard import Guard, as_input, documents, eventually
from tests.apiserver.harness import ControlPlane
from tests.apiserver.organisation import ACCEPTED, CONFIGURATION, Example, accept, examples, key, without_breaks

NO_FINALIZERS = json.dumps({"metadata": {"finalizers": None}})


@pytest.fixture(scope="module")
def guard(programs: build.Programs) -> Iterator[Guard]:
    """A guarded control plane that holds the accepted organisation; tests put back what they change."""
    with ControlPlane() as control_plane, Guard(control_plane, CONFIGURATION) as running:
        accept(control_plane)
        yield running


@pytest.mark.parametrize("example", examples("warned"), ids=lambda example: example.name)
def test_each_warned_example_is_stored_and_its_cure_is_shown(guard: Guard, example: Example) -> None:
    kubectl = guard.control_plane.kubectl

    def warned() -> bool:
        said = kubectl(*example.command, "--dry-run=server").stderr
        return all(f"[{rule}]" in said for rule in example.rules)

    eventually(warned, lambda: f"{example.name} is not warned of", seconds=10)
    done = kubectl(*example.command)
    try:
        for rule in example.rules:
            assert f"[{rule}]" in done.stderr
        for piece in example.says:
            assert piece in without_breaks(done.stderr)
        assert any(line.endswith((" created", " configured")) for line in done.stdout.splitlines()), done.stdout
    finally:
        put_back(guard, documents(example.file))


def put_back(guard: Guard, changed: list[dict[str, Any]]) -> None:
    """The organisation as it was, but for what the webhook fills in on creation alone."""
    kubectl, accepted = guard.control_plane.kubectl, {key(thing): thing for thing in ACCEPTED}
    known = as_input([accepted[key(thing)] for thing in changed if key(thing) in accepted])
    new = [thing for thing in changed if key(thing) not in accepted]
    held = [thing for thing in new if thing["kind"] == "ClusterQueue"]  # until Kueue, which is not here, lets them go
    if held:
        kubectl("patch", "--type=merge", "-p", NO_FINALIZERS, "-f", "-", input=as_input(held))
    if new:
        kubectl("delete", "--wait=false", "-f", "-", input=as_input(new))
    if len(new) < len(changed):
        eventually(
            lambda: not kubectl("apply", "-f", "-", input=known, check=False).returncode,
            lambda: f"cannot be put back: {known}",
        )
