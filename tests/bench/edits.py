"""`python -m tests.bench --only edits`: the time that the webhook takes for single edits of YuniKorn's ConfigMap."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable

from cli.main import GARBAGE
from cluster.served import FOLLOWED
from policies.configuration.settings import Configuration
from policies.dialects import read
from policies.model.forest import Forest
from tests.bench.organisation import Manifest, queue_config
from tests.bench.reviews import review
from tests.bench.stopwatch import Stopwatch
from webhook.decision import judge_review, warm_up
from webhook.review import parse

EDITS = 10
_KEY = "queues.yaml"
_AMOUNTS = ("vcore: 50", "vcore: 49")
"""The maximum of a leaf before and after an edit."""

Edit = Callable[[list[str], int], None]


def rows() -> None:
    gc.set_threshold(*GARBAGE)  # as in every command, `quotree serve webhook` too
    warm_up()
    print(f"\n{'edits of a ConfigMap, processor ms':36} {'an amount':>10} {'a line':>10} {'a queue':>10}")
    for count in (100, 1_000, 10_000):
        figures = " ".join(f"{_millis(count, edit):10.1f}" for edit in (_amount, _line, _queue))
        print(f"{f'{count} queues':36} {figures}", flush=True)


def _millis(count: int, edit: Edit) -> float:
    """The median time from the bytes of the request to the verdict; each edit is stored before the next one."""
    manifest = queue_config(count)
    world = Forest.of(filter(None, [read(manifest)]), known=FOLLOWED)
    watch = Stopwatch()
    for number in range(-1, EDITS):
        after = _edited(manifest, edit, count // 100 * 99 * (number % EDITS) // EDITS)
        body = json.dumps(review(manifest, after)).encode()
        if number < 0:  # the first one reads the whole ConfigMap
            found = judge_review(parse(body), world, Configuration())
        else:
            with watch.lap():
                found = judge_review(parse(body), world, Configuration())
        assert found is not None
        assert not found.verdict.findings
        manifest, world = after, found.proposal.after
    return watch.millis


def _edited(manifest: Manifest, edit: Edit, place: int) -> Manifest:
    """The manifest with an edit at the leaf of this number."""
    lines = manifest["data"][_KEY].split("\n")
    leaves = [number for number, line in enumerate(lines) if line.lstrip() in _AMOUNTS]
    edit(lines, leaves[place])
    return {**manifest, "data": {_KEY: "\n".join(lines)}}


def _amount(lines: list[str], at: int) -> None:
    old, new = _AMOUNTS if lines[at].endswith(_AMOUNTS[0]) else _AMOUNTS[::-1]
    lines[at] = lines[at].replace(old, new)


def _line(lines: list[str], at: int) -> None:
    """Insert a line, which moves all later queues."""
    lines.insert(at + 1, "# a note")


def _queue(lines: list[str], at: int) -> None:
    """Insert a queue after the one with this amount."""
    start = max(number for number in range(at) if lines[number].lstrip().startswith("- name:"))
    lines[at + 1 : at + 1] = [lines[start] + "-new", *lines[start + 1 : at + 1]]
