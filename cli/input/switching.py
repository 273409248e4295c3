"""Stops and resumes a ClusterQueue, a LocalQueue or a single Workload, by a field of its spec."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from cli.exits import Misused
from cli.input.grouped import stacked
from cli.input.login import ClusterLogin
from cli.input.login import login as login_option
from cli.input.named import named, owners, workload_of
from cli.subcommands import SubCommands
from cluster.actions import Patch
from cluster.errors import NotFound
from cluster.resource import Resource
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
        kind = next((kind for kind, words in _WORDS.items() if cmd_name.lower() in words), cmd_name)
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
    """Set the field, and return a sentence about the change. Raises Misused for an unknown name, and OutOfReach."""
    from cluster.apply import perform  # here, since it takes long to load

    within = f" in namespace {namespace}" if namespace else ""
    with login.connected() as cluster:
        resource = cluster.newest(versions(kind))
        try:
            found = cluster.get(resource.item(name, namespace))
        except NotFound as error:
            if kind != kueue.WORKLOAD or namespace is None:
                raise Misused(_missing(cluster, resource, kind, name, namespace)) from error
            name = _of_job(cluster, resource, name, namespace)
            found = cluster.get(resource.item(name, namespace))
        if mapping(found.get("spec")).get(wanted.field, wanted.absent) == wanted.value:
            return plain(f"{kind.kind} {name}{within} is unchanged: {wanted.field} is already {_written(wanted.value)}")
        if dry_run != "client":
            uid, body = str(metadata(found).get("uid") or ""), {"spec": {wanted.field: wanted.value}}
            perform(
                cluster,
                Patch(resource, namespace, name, body, "", MANAGER, uid=uid, dry_run=dry_run == "server"),
            )
    note = f" ({dry_run} dry run)" if dry_run != "none" else ""
    return plain(f"{kind.kind} {name}{within} {wanted.done}{note}")


def versions(kind: GroupKind) -> tuple[Resource, ...]:
    """The versions in which Kueue has served the kind, newest first."""
    return WORKLOADS if kind == kueue.WORKLOAD else FOLLOWED[kind]


def _missing(cluster: ClusterClient, resource: Resource, kind: GroupKind, name: str, namespace: str | None) -> str:
    within = f" in namespace {namespace}" if namespace else ""
    near = close(name, [str(metadata(each).get("name")) for each in cluster.list(resource, namespace=namespace)])
    return f"there is no {kind.kind} {name}{within}" + (f"; did you mean {near}?" if near else "")


def _of_job(cluster: ClusterClient, resource: Resource, written: str, namespace: str) -> str:
    """The name of the Workload of a job, written as for `quotree why`. Raises Misused."""
    stored = {str(metadata(each).get("name")): each for each in cluster.list(resource, namespace=namespace)}
    return workload_of({name: owners(each) for name, each in stored.items()}, named(written, namespace, str))


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
