"""Helm's real binary, made by Go's ordinary client and cached beside the control plane."""

from __future__ import annotations

import os
import platform
import subprocess
import tempfile
from pathlib import Path

from tests.apiserver import build

VERSION = "v3.22.0"
_MODULE = f"helm.sh/helm/v3/cmd/helm@{VERSION}"


def binary() -> Path:
    """The binary, from the cache or installed now. Raises MissingControlPlaneError."""
    target = build.cache_folder() / f"helm-{VERSION}-{platform.system()}-{platform.machine()}".lower()
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with build.lock(target.with_name(f"{target.name}.lock")):
        if not target.exists():  # else another process made it while this one waited
            _install(target)
    return target


def _install(target: Path) -> None:
    go, _ = build.find_go()
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="helm-") as folder:
        environment = {**os.environ, "GOBIN": folder, "CGO_ENABLED": "0", "GOWORK": "off", "GOTOOLCHAIN": "local"}
        done = subprocess.run(
            [go, "install", _MODULE],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=build.BUILD_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            raise build.MissingControlPlaneError(f"`go install {_MODULE}` failed:\n{done.stderr[-2000:]}")
        (Path(folder) / "helm").replace(target)


def main() -> None:
    try:
        print(binary())
    except build.MissingControlPlaneError as error:
        raise SystemExit(f"no helm for the tests: {error}") from None


if __name__ == "__main__":
    main()
