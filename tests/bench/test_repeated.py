"""A part of the benchmark that other processes disturbed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench import __main__ as bench
from tests.bench.machine import MachineTime


def test_a_disturbed_part_runs_again_in_a_new_folder(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shares = iter((0.5, 0.01))
    monkeypatch.setattr(MachineTime, "others", lambda *_: next(shares))

    bench._until_undisturbed("part", lambda folder: (Path(folder) / "world").mkdir())

    assert capsys.readouterr().out.splitlines() == [
        "(part: others used 50% of the machine)",
        "(part: others used 1% of the machine)",
    ]
