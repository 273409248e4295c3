"""The quick start works as the README shows it, with Docker's part played, and `make quickstart` does the same."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from http.cookiejar import CookieJar
from pathlib import Path

import pytest

from tests.apiserver import build
from tests.apiserver.quickstart.laptop import ROOT, Laptop, laptop
from tests.apiserver.quickstart.steps import quick_start, settled, works_here
from tests.waiting import eventually


@pytest.fixture(scope="module")
def machine(programs: build.Programs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laptop]:
    with laptop(tmp_path_factory.mktemp("laptop")) as started:
        yield started


def test_six_commands_lead_to_the_first_admitted_job_and_the_first_refused_queue(machine: Laptop) -> None:
    shown = quick_start()
    *commands, refused = filter(works_here, shown.first)

    assert len(shown.first) <= 6
    done = [machine.run(command) for command in commands]
    assert [each.returncode for each in done] == [0] * len(commands), machine.kubelet.log()
    denied = machine.run(refused)
    assert denied.returncode == 1
    jobs, error = shown.printed.split("\n\n")
    assert settled(jobs) in settled(done[-1].stdout)
    assert settled(denied.stdout) == settled(error)


def test_a_job_that_waits_says_why(machine: Laptop) -> None:
    ask, dashboard = filter(works_here, quick_start().why)

    said = machine.run(ask).stdout
    assert dashboard == "quotree dashboard"
    assert "second" in said
    assert "cpu" in said
    assert "is admitted" not in said


def test_the_first_job_makes_room_for_the_second_and_all_is_removed(machine: Laptop) -> None:
    server = machine.server
    machine.run("kubectl delete job first")
    eventually(lambda: "Running" in machine.run("kubectl get job second").stdout, machine.kubelet.log)
    machine.run("kubectl apply -f examples/quickstart.yaml")

    for command in filter(works_here, quick_start().back):
        done = machine.run(command)
        assert done.returncode == 0, done.stdout
    eventually(lambda: not server.request("GET", "/apis/batch/v1/jobs")["items"])


def test_make_quickstart_shows_it_in_less_than_two_minutes_and_leaves_nothing(
    programs: build.Programs, tmp_path: Path
) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    begun = time.monotonic()
    with subprocess.Popen(
        [sys.executable, "-m", "tests.apiserver.quickstart"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        lines: Iterator[str] = iter(process.stdout)
        seen: list[str] = []
        address = next(
            match[1] for line in lines if (match := re.search(r"The dashboard is at (\S+)", _kept(line, seen)))
        )
        assert time.monotonic() - begun < 120
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        with opener.open(address, timeout=30) as page:
            assert "research" in page.read().decode()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)

    out = "".join(seen)
    assert process.returncode == 0, out
    assert "first    Running" in out
    assert re.search(r"^Name: +second$", out, re.MULTILINE)
    assert "default/second" in out
    assert "[parent-cycle]" in out
    assert list(tmp_path.iterdir()) == []


def _kept(line: str, seen: list[str]) -> str:
    seen.append(line)
    return line
