"""Stops and resumes a ClusterQueue, a LocalQueue or a single Workload, by a field of its spec."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from cli.exits import Misused
from cli.input.grouped import stacked
from cli.input.login import ClusterLogin
from cli.input.login import login as login_option
from cli.input.named import NamedWork, named, stored_workload_of
from cli.subcommands import SubCommands
from cluster.actions import Patch
from cluster.errors import NotFound
from cluster.resource import Manifest, Resource
from cluster.served import FOLLOWED, WORKLOADS
from policies.dialects import kueue
from policies.dialects.reading import mapping, metadata
from policies.model.objects import GroupKind
from policies.model.printing import plain
from policies.model.suggestion import close

if TYPE_CHECKING:  # it takes long to load
    from cluster.client import ClusterClient

MANAGER = "quotree"
"""The field manager of changes that a user makes with a command."""
HOLD, DRAIN, NONE = "Hold", "HoldAndDrain", "None"


@dataclass(frozen=True, slots=True)
class SpecSwitch:
    """A change of one field of `spec`.

    `value`: the new value. `absent`: the value that an absent field means. `done`: the words for the finished change.
    """

    field: str
    value: object
    absent: object
    done: str


def stop_policy(value: str) -> SpecSwitch:
    return SpecSwitch("stopPolicy", value, NONE, "resumed" if value == NONE else _STOPPED[value])


_STOPPED = {HOLD: "stopped; running work continues", DRAIN: "stopped; running work is evicted"}


def active(value: bool) -> SpecSwitch:
    return SpecSwitch("active", value, True, "resumed" if value else "stopped; if it runs, it is evicted")


class OfKinds(SubCommands):
    """A group with a subcommand for each kind. kubectl's other names of a kind work as well.

    A misspelled name gets a proposal, like a misspelled command.
    """

    def known_words(self, ctx: click.Context) -> list[str]:
        return [word for kind in self.list_commands(ctx) for word in (kind, *_WORDS[kind])]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_commands(ctx, formatter)
        rows = [(kind, ", ".join(_WORDS[kind])) for kind in self.list_commands(ctx)]
        with formatter.section("Other names"):
            formatter.write_dl(rows)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        word = cmd_name.lower()
        kind = next((kind for kind, words in _WORDS.items() if word in words), word)
        return super().get_command(ctx, kind)


_WORDS = {
    "clusterqueue": ("clusterqueues", "cq"),
    "localqueue": ("localqueues", "lq"),
    "workload": ("workloads", "wl"),
    "resourceflavor": ("resourceflavors", "rf", "flavor", "flavors"),
    "cohort": ("cohorts",),
}


acting = stacked(
    click.argument("name"),
    click.option(
        "--dry-run",
        type=click.Choice(["none", "client", "server"]),
        default="none",
        show_default=True,
        help="client: print what would be done. server: let the API server check it without storing it.",
    ),
    login_option,
)


def switch(
    login: ClusterLogin, kind: GroupKind, name: str, wanted: SpecSwitch, dry_run: str, namespace: str | None = None
) -> str:
    """Set the field, and return a sentence about the change. Raises Misused for an unknown name, and OutOfReach.

    `name`: for a Workload, as for `quotree why`. `namespace`: for a Workload, the value of -n; None for a ClusterQueue.
    """
    from cluster.apply import perform  # here, since it takes long to load

    work = named(name, namespace, login.namespace) if kind == kueue.WORKLOAD else None
    namespace = work.namespace if work else namespace
    within = f" in namespace {namespace}" if namespace else ""
    with login.connected() as cluster:
        resource = cluster.newest(versions(kind))
        found = _workload(cluster, resource, work) if work else _queue(cluster, resource, kind, name, namespace)
        name = str(metadata(found).get("name"))
        if mapping(found.get("spec")).get(wanted.field, wanted.absent) == wanted.value:
            return plain(f"{kind.kind} {name}{within} is unchanged: {wanted.field} is already {_written(wanted.value)}")
        if dry_run != "client":
            uid, body = str(metadata(found).get("uid") or ""), {"spec": {wanted.field: wanted.value}}
            perform(cluster, Patch(resource, namespace, name, body, "", MANAGER, uid=uid, dry_run=dry_run == "server"))
    note = f" ({dry_run} dry run)" if dry_run != "none" else ""
    return plain(f"{kind.kind} {name}{within} {wanted.done}{note}")


def versions(kind: GroupKind) -> tuple[Resource, ...]:
    """The versions in which Kueue has served the kind, newest first."""
    return WORKLOADS if kind == kueue.WORKLOAD else FOLLOWED[kind]


def _queue(cluster: ClusterClient, resource: Resource, kind: GroupKind, name: str, namespace: str | None) -> Manifest:
    """The queue with this name. Raises Misused."""
    try:
        return cluster.get(resource.item(name, namespace))
    except NotFound as error:
        within = f" in namespace {namespace}" if namespace else ""
        near = close(name, [str(metadata(each).get("name")) for each in cluster.list(resource, namespace=namespace)])
        hint = f"; did you mean {near}?" if near else ""
        raise Misused(f"there is no {kind.kind} {name}{within}{hint}") from error


def _workload(cluster: ClusterClient, resource: Resource, work: NamedWork) -> Manifest:
    """The Workload with this name, or that of the job with this name. Raises Misused."""
    if work.kind in ("", kueue.WORKLOAD.kind):
        with suppress(NotFound):
            return cluster.get(resource.item(work.name, work.namespace))
    stored = {str(metadata(each).get("name")): each for each in cluster.list(resource, namespace=work.namespace)}
    return stored[stored_workload_of(stored, work)]


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
