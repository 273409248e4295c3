"""What the given files are judged against: nothing, the files of a folder, or a cluster as it is now."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.exits import OutOfReach
from cli.input.documents import Unreadable
from cli.input.given import gather
from policies.configuration.settings import YuniKornSettings
from policies.dialects import core, kueue, volcano
from policies.dialects.kueue_kinds import ADMISSION_CHECK, MULTIKUEUE_CLUSTER, MULTIKUEUE_CONFIG
from policies.dialects.reading import Manifest, identity
from policies.model.forest import Forest
from policies.model.objects import Ref

if TYPE_CHECKING:
    from cluster.sources import Source

DECLARED = (
    kueue.COHORT,
    kueue.CLUSTER_QUEUE,
    kueue.LOCAL_QUEUE,
    kueue.RESOURCE_FLAVOR,
    ADMISSION_CHECK,
    MULTIKUEUE_CONFIG,
    MULTIKUEUE_CLUSTER,
    volcano.QUEUE,
    core.NAMESPACE,
)
"""The kinds that people keep in files: what the files lack of these does not exist. Work in progress is in no file."""


@dataclass(frozen=True, slots=True)
class Against:
    """What --against names: `kind` is nothing, files or cluster, `name` a folder or a kubeconfig context, or empty."""

    kind: str = "nothing"
    name: str = ""

    def __str__(self) -> str:
        """For the head line of a report: judged against ..."""
        if self.kind == "nothing":
            return "nothing but the given files"
        return f"the files in {self.name}" if self.kind == "files" else f"cluster {self.name or '(current context)'}"


class AgainstType(click.ParamType[Against]):
    """Reads `nothing`, `files:DIR`, `cluster` and `cluster:CONTEXT`."""

    name = "against"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002, click's signature
        return "nothing|files:DIR|cluster[:CONTEXT]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Against:
        if isinstance(value, Against):
            return value
        kind, colon, name = str(value).partition(":")
        if kind == "files" and name and not Path(name).exists():
            self.fail(f"{name}: no such file or folder", param, ctx)
        named = bool(name) and kind in ("files", "cluster")
        bare = not colon and kind in ("nothing", "cluster")
        if not named and not bare:
            self.fail(f"{value!r} is none of nothing, files:DIR, cluster, cluster:CONTEXT", param, ctx)
        return Against(kind, name)


@dataclass(frozen=True, slots=True)
class Revision:
    """A commit, what the user called it, and when it was made."""

    name: str
    commit: str
    committed: datetime


@dataclass(frozen=True, slots=True)
class Context:
    """The world before the change; `unreadable` is what of it could not be read.

    `manifests` are those of the world where it is made of files; of a cluster those of the objects that were asked for.
    """

    against: Against
    world: Forest
    unreadable: tuple[Unreadable, ...] = ()
    manifests: Mapping[Ref, Manifest] = field(default_factory=dict)


def load(
    against: Against,
    kubeconfig: str | None = None,
    yunikorn: YuniKornSettings | None = None,
    wanted: Container[Ref] = (),
) -> Context:
    """Raises OutOfReach where a cluster cannot be read. `yunikorn` says where in a cluster YuniKorn's objects are.

    `wanted` are objects that will be compared with their manifests.
    """
    if against.kind == "nothing":
        return Context(against, Forest(frozenset(DECLARED)))
    if against.kind == "files":
        held = gather([against.name])
        things = (placed.thing for placed in held.objects.values())
        manifests = {ref: placed.document.manifest for ref, placed in held.objects.items()}
        return Context(against, Forest.of(things, DECLARED), held.unreadable, manifests)
    kept: dict[Ref, dict[str, Any]] = {}
    world = _of_cluster(against, kubeconfig, yunikorn or YuniKornSettings(), wanted, kept)
    return Context(against, world, manifests=kept)


def _of_cluster(
    against: Against,
    kubeconfig: str | None,
    yunikorn: YuniKornSettings,
    wanted: Container[Ref],
    manifests: dict[Ref, dict[str, Any]],
) -> Forest:
    """The world; of `wanted` the manifests are kept as well."""
    from cluster.client import Cluster  # here, since it takes long and only this needs it
    from cluster.errors import ClusterError
    from cluster.sources import sources
    from cluster.store import load as read_all

    try:
        with Cluster.connect(against.name or None, kubeconfig) as cluster:
            return read_all(cluster, [_recording(source, wanted, manifests) for source in sources(yunikorn)])
    except ClusterError as error:
        raise OutOfReach(f"cannot read {against}: {error}") from error


def _recording(source: Source, wanted: Container[Ref], manifests: dict[Ref, dict[str, Any]]) -> Source:
    """The source, which notes each wanted manifest as it passes by; nothing is asked of the cluster twice."""
    trim, namespaced = source.trim, source.versions[0].namespaced

    def note(manifest: dict[str, Any]) -> dict[str, Any]:
        ref = identity(manifest, source.kind, namespaced)
        if ref in wanted:
            manifests[ref] = manifest
        return trim(manifest) if trim else manifest

    return replace(source, trim=note)
