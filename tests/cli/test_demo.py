"""`make run`: what it prints, how it ends, and that nothing is left behind."""

from __future__ import annotations

import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from examples.demo import __main__ as demo
from examples.demo.process import NotServed
from examples.demo.webhook import Webhook, path_of

ROOT = Path(__file__).parents[2]


def _start(*arguments: str, folder: Path) -> subprocess.Popen[str]:
    """The demonstration, with its temporary files below `folder`."""
    environment = {**os.environ, "TMPDIR": str(folder), "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "examples.demo", *arguments],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _few(folder: Path, *kept: str) -> Path:
    """Only these examples, so that a test with an unexpected result is fast."""
    examples = folder / "examples"
    shutil.copytree(ROOT / "examples", examples)
    for played in ("refused", "warned", "simulations"):
        for each in (examples / played).iterdir():
            if each.name not in (*kept, "special-queue"):
                shutil.rmtree(each)
    return examples


def _left_behind(folder: Path) -> list[Path]:
    return list(folder.iterdir())


@pytest.mark.apiserver
def test_demo_once_runs_all_examples_and_exits_0(tmp_path: Path) -> None:
    with _start("--once", "--verbose", folder=tmp_path) as process:
        out, err = process.communicate(timeout=120)

    assert (process.returncode, err) == (0, "")
    for folder in (*(ROOT / "examples" / "refused").iterdir(), *(ROOT / "examples" / "warned").iterdir()):
        assert f"{folder.parent.name}/{folder.name}: " in out
    for review in (ROOT / "examples" / "reviews").glob("*.json"):
        assert f"{review.name}: " in out
    for story in (ROOT / "examples" / "simulations").iterdir():
        assert f"simulations/{story.name}: " in out
    for page in ("trees/kueue", "trees/volcano", "trees/yunikorn", "namespaces/vision"):
        assert f"/{page}: " in out
    assert "All results are as expected." in out
    assert _left_behind(tmp_path) == []


@pytest.mark.apiserver
@pytest.mark.parametrize("ending", [pytest.param(signal.SIGINT, marks=pytest.mark.nightly), signal.SIGTERM])
def test_demo_runs_until_it_is_stopped_and_leaves_no_files(tmp_path: Path, ending: signal.Signals) -> None:
    with _start(folder=tmp_path) as process:
        assert process.stdout
        lines: Iterator[str] = iter(process.stdout)
        before: list[str] = []
        for line in lines:
            if found := re.search(r"The dashboard is at (\S+)", line):
                page = found[1]
                break
            before.append(line)
        assert len(before) <= 10
        assert "".join(before).startswith("1. examples/, judged as by")
        with urllib.request.build_opener(urllib.request.HTTPCookieProcessor()).open(page, timeout=30) as answer:
            assert "Busiest trees" in answer.read().decode()
        url = next(match[1] for line in lines if (match := re.search(r"keeps serving at (\S+) until", line)))
        authority = next(match[1] for line in lines if (match := re.search(r"--cacert (\S+)", line)))
        context = ssl.create_default_context(cafile=authority)
        with urllib.request.urlopen(f"{url}/readyz", context=context, timeout=30) as answer:
            assert answer.status == 200
        process.send_signal(ending)
        process.communicate(timeout=60)

    assert process.returncode == 0
    assert _left_behind(tmp_path) == []
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(f"{url}/readyz", context=context, timeout=30)


@pytest.mark.apiserver
def test_each_unexpected_result_is_reported_and_the_exit_code_is_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    examples = _few(tmp_path, "volcano-cycle", "kueue-local-queue-to-paused")
    reviews, refused, warned = (examples / name for name in ("reviews", "refused", "warned"))
    sorted(reviews.glob("refused-*.json"))[0].rename(reviews / "allowed-by-mistake.json")
    shutil.copytree(refused / "volcano-cycle", warned / "refused")
    shutil.copytree(warned / "kueue-local-queue-to-paused", warned / "other-fix")
    _expecting(refused / "volcano-cycle", "parent-cycle", "parent-missing")
    _expecting(warned / "kueue-local-queue-to-paused", "[local-queue-to-stopped]", "[flavor-missing]")
    _expecting(warned / "other-fix", "to None", "to Never")
    monkeypatch.setattr(demo, "EXAMPLES", examples)

    assert demo._run(once=True) == 1
    said = capsys.readouterr().err
    surprises = {
        "allowed-by-mistake.json": "refused",
        "refused/volcano-cycle": "expected parent-missing, found parent-cycle",
        "warned/kueue-local-queue-to-paused": "expected warnings of flavor-missing alone, found local-queue",
        "warned/other-fix": "does not say 'set spec.stopPolicy of paused to Never'",
        "warned/refused": "expected warnings of parent-cycle",
    }
    for example, text in surprises.items():
        assert f"NOT AS EXPECTED: {example}: {text}" in said
    assert set(re.findall(r"NOT AS EXPECTED: (\S+):", said)) == surprises.keys()


def _expecting(example: Path, old: str, new: str) -> None:
    expect = example / "expect.yaml"
    text = expect.read_text()
    assert old in text
    expect.write_text(text.replace(old, new))


def test_webhook_that_does_not_start_reports_the_reason_and_leaves_no_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    with pytest.raises(NotServed, match="no such file or folder"), Webhook(tmp_path / "missing"):
        pass

    assert _left_behind(tmp_path) == []


def test_a_request_goes_to_the_endpoint_of_its_kind() -> None:
    def path(group: str, kind: str) -> str:
        return path_of({"request": {"kind": {"group": group, "kind": kind}}})

    assert path("kueue.x-k8s.io", "Cohort") == "/v1/validate/kueue"
    assert path("batch.volcano.sh", "Job") == "/v1/validate/volcano"
    assert path("", "Pod") == "/v1/validate/volcano"
    assert path("", "Namespace") == "/v1/validate/yunikorn"
    assert path_of({"request": {"kind": {"group": "", "kind": "Namespace"}}}, mutating=True) == "/v1/mutate/yunikorn"
