"""Reads the manifests of `quotree migrate` from files, standard input and --against, and converts them to Kueue."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from analysis.documents import Unreadable
from analysis.inputs import InputObjects
from cli.exits import Misused
from cli.input.against import Against
from cli.input.context import collect
from cli.input.documents import gather
from cli.input.settings import settings
from cli.input.snapshot_file import read as read_snapshot
from policies import dialects
from policies.dialects import core, kueue_kinds, volcano
from policies.dialects.core import CONFIG_MAP
from policies.dialects.reading import Manifest
from policies.dialects.yunikorn import VCORE
from policies.migration import Migration, MigrationWish, migrate_kueue, migrate_volcano, migrate_yunikorn
from policies.model.objects import GroupKind, Ref
from policies.model.pools import count
from policies.model.quantity import BadQuantity, Quantity


class Origin(StrEnum):
    """The value of --from. `kueue` converts older versions of Kueue's own objects to v1beta2."""

    VOLCANO = "volcano"
    YUNIKORN = "yunikorn"
    KUEUE = "kueue"


_TARGETS = frozenset(
    {kueue_kinds.COHORT, kueue_kinds.CLUSTER_QUEUE, kueue_kinds.LOCAL_QUEUE, kueue_kinds.RESOURCE_FLAVOR}
)
"""The kinds that a migration from Volcano or YuniKorn writes. They are read too, because some of these objects may
exist already."""
_KINDS: Final[Mapping[Origin, frozenset[GroupKind]]] = {
    Origin.VOLCANO: _TARGETS | {volcano.QUEUE, volcano.POD_GROUP, volcano.JOB, core.POD, core.NAMESPACE},
    Origin.YUNIKORN: _TARGETS | {CONFIG_MAP, core.NAMESPACE, core.POD},
    Origin.KUEUE: _TARGETS
    | {
        kueue_kinds.ADMISSION_CHECK,
        kueue_kinds.MULTIKUEUE_CONFIG,
        kueue_kinds.MULTIKUEUE_CLUSTER,
        kueue_kinds.WORKLOAD_PRIORITY_CLASS,
        kueue_kinds.TOPOLOGY,
        kueue_kinds.PROVISIONING_REQUEST_CONFIG,
    },
}
"""The kinds that are kept from a cluster or a snapshot. Files are not filtered."""
_MIGRATE: Final[Mapping[Origin, Callable[[Sequence[Manifest], MigrationWish], Migration]]] = {
    Origin.VOLCANO: migrate_volcano,
    Origin.YUNIKORN: migrate_yunikorn,
    Origin.KUEUE: lambda manifests, _: migrate_kueue(manifests),
}


@dataclass(frozen=True, slots=True)
class Migrated:
    origin: Origin
    migration: Migration
    unreadable: tuple[Unreadable, ...]


def migrated(origin: Origin, paths: Sequence[str], against: Against, wish: MigrationWish) -> Migrated:
    """Read the queues and migrate them. If an object is in both, the one from `paths` counts. Raises Misused if there
    are neither paths nor --against, and OutOfReach if the cluster or snapshot cannot be read.

    With --against cluster, the Namespace of YuniKorn's ConfigMap is the one in Quotree's configuration file, which is
    searched near `paths`.
    """
    if not paths and against.kind == "nothing":
        raise Misused("no input: name files or folders, -f - for standard input, or --against cluster")
    context, unreadable = _context(origin, paths, against)
    inputs = gather(paths) if paths else InputObjects({}, (), 0)
    own = {ref: placed.document.manifest for ref, placed in inputs.objects.items()}
    rest = [document.manifest for document in inputs.rest]
    manifests = [*({**context, **own}).values(), *rest]
    return Migrated(origin, _MIGRATE[origin](manifests, wish), (*inputs.unreadable, *unreadable))


def _context(
    origin: Origin, paths: Sequence[str], against: Against
) -> tuple[dict[Ref, Manifest], tuple[Unreadable, ...]]:
    kinds = _KINDS[origin]
    found: dict[Ref, Manifest] = {}

    def keep(ref: Ref, manifest: Manifest) -> None:
        if ref.group_kind in kinds:
            found[ref] = manifest

    if against.kind == "cluster":
        collect(against, settings(None, paths, None).yunikorn, keep)
    elif against.kind == "snapshot":
        for manifest in read_snapshot(against.name).objects:
            if (each := dialects.read(manifest)) is not None:
                keep(each.ref, manifest)
    elif against.kind == "files":
        held = gather([against.name])
        return {ref: placed.document.manifest for ref, placed in held.objects.items()}, held.unreadable
    return found, ()


def totals(written: Sequence[str]) -> dict[str, int]:
    """The values of --total (RESOURCE=AMOUNT) in Kueue's units. Raises Misused if one is invalid, negative or
    repeated."""
    found: dict[str, int] = {}
    for each in written:
        resource, _, amount = each.partition("=")
        if not resource or not amount:
            raise Misused(f"--total {each}: write RESOURCE=AMOUNT, as in cpu=64 or memory=256Gi")
        if resource == VCORE:
            raise Misused(f"--total {each}: Kueue calls it cpu; write --total cpu={amount}")
        try:
            quantity = Quantity.parse(amount)
        except BadQuantity as error:
            raise Misused(f"--total {each}: {error}") from error
        if quantity.nano < 0:
            raise Misused(f"--total {each}: the amount is negative; write 0 or more")
        if resource in found:
            raise Misused(f"--total {each}: {resource} has two totals; keep one")
        found[resource] = count(resource, quantity)
    return found
