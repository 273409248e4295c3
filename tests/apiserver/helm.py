"""Helm's real binary, made by Go's ordinary client and cached beside the control plane."""

from __future__ import annotations

from pathlib import Path

from tests.apiserver import build

VERSION = "v3.22.0"
_MODULE = f"helm.sh/helm/v3/cmd/helm@{VERSION}"


def binary() -> Path:
    """The binary, from the cache or installed now. Raises MissingControlPlaneError."""
    return build.cached("helm", VERSION, _install)


def _install(output: Path) -> None:
    build.run_go(output.parent, "install", _MODULE, what=_MODULE, GOBIN=str(output.parent))
    (output.parent / "helm").replace(output)


def main() -> None:
    try:
        print(binary())
    except build.MissingControlPlaneError as error:
        raise SystemExit(f"no helm for the tests: {error}") from None


if __name__ == "__main__":
    main()
