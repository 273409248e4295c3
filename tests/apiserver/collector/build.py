"""The OpenTelemetry Collector: built once from the published Go modules, cached beside the control plane.

`python -m tests.apiserver.collector.build` does it by hand. It takes a minute on two cores.
"""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import tempfile
from pathlib import Path

from tests.apiserver import build

SOURCE = Path(__file__).parent
_FILES = ("go.mod", "go.sum", "main.go")


def binary() -> Path:
    """The program, from the cache or built now. Raises MissingControlPlaneError."""
    key = hashlib.sha256(b"".join((SOURCE / name).read_bytes() for name in _FILES)).hexdigest()[:16]
    target = build.cache_folder() / f"collector-{platform.system()}-{platform.machine()}-{key}".lower()
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with build.lock(target.with_name(f"{target.name}.lock")):
        if not target.exists():  # else another process built it while this one waited
            _build(target)
    return target


def _build(target: Path) -> None:
    go, _ = build.find_go()
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="collector-") as folder:
        output = Path(folder) / target.name
        done = subprocess.run(
            [go, "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", str(output), "."],
            cwd=SOURCE,
            env={**os.environ, "CGO_ENABLED": "0", "GOWORK": "off", "GOTOOLCHAIN": "local"},
            capture_output=True,
            text=True,
            timeout=build.BUILD_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            raise build.MissingControlPlaneError(f"`go build` of the collector failed:\n{done.stderr[-2000:]}")
        output.replace(target)  # atomic: the final name never shows half a file


def main() -> None:
    try:
        print(binary())
    except build.MissingControlPlaneError as error:
        raise SystemExit(f"no collector for the tests: {error}") from None


if __name__ == "__main__":
    main()
