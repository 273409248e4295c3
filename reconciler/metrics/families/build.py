"""The version that runs in the place of Kueue."""

from __future__ import annotations

from collections.abc import Iterator

from cluster.metrics import Family, Sample, Stability, Type
from reconciler.metrics.occasions import BuildInfo
from reconciler.metrics.source import source

INFO = Family(
    "kueue_build_info",
    Type.GAUGE,
    "1; the version that runs in the place of Kueue.",
    ("git_version", "git_commit", "build_date", "go_version", "compiler", "platform"),
    stability=Stability.KUEUE,
)


@source(BuildInfo, INFO)
def build(build: BuildInfo) -> Iterator[Sample]:
    yield INFO.sample(1, f"quotree-{build.version}", "", "", build.python, build.implementation, build.machine)
