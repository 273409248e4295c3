"""The OpenTelemetry Collector: built once from the published Go modules, cached beside the control plane.

`python -m tests.apiserver.collector.build` does it by hand. It takes a minute on two cores.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tests.apiserver import build

SOURCE = Path(__file__).parent


def binary() -> Path:
    """The program, from the cache or built now. Raises MissingControlPlaneError."""
    return build.cached("collector", build.source_key(SOURCE), partial(build.go_build, SOURCE))


def main() -> None:
    try:
        print(binary())
    except build.MissingControlPlaneError as error:
        raise SystemExit(f"no collector for the tests: {error}") from None


if __name__ == "__main__":
    main()
