"""The COPY and RUN lines of the Dockerfile run in a clean root, and its entry point serves. Docker is not needed."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import ssl
import subprocess
import sys
import zipfile
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.apiserver.processes import end
from tests.apiserver.server_process import ServerProcess, fetched
from tests.waiting import eventually

pytestmark = pytest.mark.timeout(600)

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
FOLDERS = ("/opt/quotree", "/tmp/build", "/tmp/wheel")
"""The folders that the layers write to, besides their working folder."""


def stages() -> list[list[tuple[str, str]]]:
    """The instructions of each stage, such as (COPY, . .)."""
    lines = [line for line in DOCKERFILE.splitlines() if line and not line.startswith("#")]
    found: list[list[tuple[str, str]]] = []
    for line in lines:
        name, _, rest = line.partition(" ")
        if name == "FROM":
            found.append([])
        elif found:
            found[-1].append((name, rest.strip()))
    return found


def copied(source: str, target: Path) -> None:
    """As COPY, without what .dockerignore names; build contexts have files that git does not know as well."""
    ignored = (ROOT / ".dockerignore").read_text().split()
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        parents = [name, *map(str, Path(name).parents)]
        if any(fnmatch(each, pattern.removeprefix("**/")) for each in parents for pattern in ignored):
            continue
        if source in (".", name):
            to = target / (name if source == "." else Path(name).name)  # a file goes into the folder without its own
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, to)


def built(root: Path) -> None:
    """The first stage, below this folder instead of /."""
    work, environment = root, {**os.environ, "PYTHONPATH": ""}
    (root / "tmp").mkdir(parents=True)
    programs = root / "usr" / "bin"
    programs.mkdir(parents=True)
    (programs / "python").symlink_to(sys.executable)
    environment["PATH"] = f"{programs}:/usr/bin:/bin"
    for name, rest in stages()[0]:
        if name == "WORKDIR":
            work = root / rest.lstrip("/")
            work.mkdir()
        elif name == "ENV":
            environment |= dict(each.split("=", 1) for each in shlex.split(rest))
        elif name == "COPY":
            *sources, target = rest.split()
            for source in sources:
                copied(source, work / target)
        elif name == "RUN":
            command = re.sub("|".join(FOLDERS), lambda found: f"{root}{found[0]}", rest)
            done = subprocess.run(["/bin/sh", "-c", command], cwd=work, env=environment, capture_output=True, text=True)
            assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


def files_of_wheel(source: Path, folder: Path) -> set[str]:
    """The files of the wheel that is built from this folder."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (wheel,) = folder.iterdir()
    with zipfile.ZipFile(wheel) as content:
        return set(content.namelist())


def test_the_files_that_the_dockerfile_copies_make_the_whole_wheel(tmp_path: Path) -> None:
    work = tmp_path / "src"
    for rest in (rest for name, rest in stages()[0] if name == "COPY"):
        *sources, target = rest.split()
        for source in sources:
            before = {*work.rglob("*")}
            copied(source, work / target)
            assert {*work.rglob("*")} > before, f"COPY {source} copies nothing"

    assert files_of_wheel(work, tmp_path / "copied") == files_of_wheel(ROOT, tmp_path / "checkout")


@pytest.mark.nightly
def test_the_image_layers_are_built_and_the_entry_point_serves(tmp_path: Path) -> None:
    root, home = tmp_path / "root", tmp_path / "home"
    built(root)
    home.mkdir()

    second = dict(stages()[1])
    (entry,), command = json.loads(second["ENTRYPOINT"]), json.loads(second["CMD"])
    assert second["COPY"].split()[1:] == ["/opt/quotree", "/opt/quotree"]
    program = root / "opt" / "quotree" / "bin" / entry
    assert not (program.parent / "pip").exists()
    arguments = ["--against=nothing", f"--certs={home}/certs", "--port=0", "--metrics-port=0", "--drain=0"]
    server = ServerProcess(home, [str(program), *command, *arguments], {"PYTHONPATH": "", "PATH": os.defpath})
    try:
        eventually(lambda: server.address, server.log)
        trust = ssl.create_default_context(cafile=str(home / "certs" / "ca.crt"))
        eventually(lambda: fetched(f"{server.address['webhook']}/readyz", trust=trust)[0] == 200, server.log)
    finally:
        end(server.process)
