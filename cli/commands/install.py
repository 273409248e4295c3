"""Render manifests for a cluster, and take one over from Kueue's manager."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
import yaml

from cli.exits import EXIT_CODES_OF_ACTIONS, EXIT_CODES_OF_PLANS, Exit, Misused
from cli.input.installed import installed, step_timeout
from cli.input.login import ClusterLogin
from cli.input.login import login as login_option
from cli.output import emit, write
from cli.subcommands import SubCommands
from policies.configuration.settings import Configuration
from policies.dialects.reading import Manifest
from policies.model.printing import plain
from policies.takeover.objects import FoundCluster, PlannedWrite, ReleaseNames, TakeoverPlan
from policies.vap.admission_policies import policies

if TYPE_CHECKING:
    from cluster.client import ClusterClient


class _Readable(yaml.SafeDumper):
    """Writes a text of several lines as a block; CEL expressions would be unreadable in quotes."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Readable.add_representer(str, _text)


@click.group(cls=SubCommands, epilog=EXIT_CODES_OF_PLANS)
def install() -> None:
    """Render manifests for a cluster, and take over from Kueue's manager.

    \b
    Examples:
      quotree install render --vap -o policies.yaml
      quotree install take-over
    """


@install.command(epilog=EXIT_CODES_OF_ACTIONS)
@click.option("--vap", is_flag=True, help="Render ValidatingAdmissionPolicies of the rules that need one object only.")
@click.option(
    "-o",
    "--output",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to write. Default: standard output.",
)
def render(vap: bool, file: Path | None) -> None:
    """Render manifests as YAML, for `kubectl apply -f`.

    With --vap: ValidatingAdmissionPolicies. The API server evaluates them itself, so they also refuse a wrong object
    while the webhook is down. Rules that need the tree are not among them.

    \b
    Examples:
      quotree install render --vap | kubectl apply -f -
    """
    if not vap:
        raise Misused("name what to render: add --vap")
    text = _yaml_of(policies())
    if file is None:
        emit(text.rstrip("\n"))
    else:
        write(str(file), text.rstrip("\n"))


def _yaml_of(documents: list[dict[str, object]]) -> str:
    return yaml.dump_all(documents, Dumper=_Readable, sort_keys=False, width=120)


@install.command()
@click.option(
    "--apply", "applied", is_flag=True, help="Carry the plan out. What was done stays: call it again to go on."
)
@click.option("--undo", is_flag=True, help="Give the cluster back to Kueue's manager.")
@click.option("--plan", "shown", is_flag=True, help="With --undo: show the plan; change nothing.")
@installed
@login_option
@step_timeout
def take_over(
    applied: bool,
    undo: bool,
    shown: bool,
    names: ReleaseNames,
    login: ClusterLogin,
    timeout: int,
) -> None:
    """Take a cluster over from Kueue's manager, or with --undo give it back.

    Without --apply and --undo the command shows each step and changes nothing. What was there before is kept in
    annotations of the objects. Exit code 1: something is missing, and nothing was begun.

    \b
    Examples:
      quotree install take-over
      quotree install take-over --apply
      quotree install take-over --undo --plan
    """
    if applied and (undo or shown):
        raise Misused("--apply cannot be combined with --undo or --plan; leave one of them out")
    from cluster.takeover import PlanReader  # here, since it takes long to load

    planned = _giving(names) if undo else _taking(names)
    with login.connected() as cluster:
        reader = PlanReader(cluster, names)
        plan = planned(reader.read())
        if plan.steps and (applied or (undo and not shown)):
            plan = carry_out(cluster, reader.read, planned, float(timeout))
            emit("\n".join(_outcome(plan, undo)))
        else:
            emit("\n".join(plan_lines(plan)))
    click.get_current_context().exit(Exit.FINDINGS if plan.refusals else Exit.CLEAN)


def _taking(names: ReleaseNames) -> Callable[[FoundCluster], TakeoverPlan]:
    from policies.takeover.plan import take_over as planned
    from reconciler.configured import read_configured
    from reconciler.jobs.kinds import frameworks_run_here

    def judge(manifest: Manifest, own: Configuration) -> object:
        return read_configured(manifest, own.reconciler.jobs, own.reconciler.multikueue, names.namespace, own=own)

    kinds = frameworks_run_here()
    return lambda found: planned(found, names, kinds, judge, lambda manifest: _yaml_of([dict(manifest)]))


def _giving(names: ReleaseNames) -> Callable[[FoundCluster], TakeoverPlan]:
    from policies.takeover.plan import give_back

    return lambda found: give_back(found, names)


def carry_out(
    cluster: ClusterClient,
    read: Callable[[], FoundCluster],
    planned: Callable[[FoundCluster], TakeoverPlan],
    longest: float,
) -> TakeoverPlan:
    """Says each step as it begins."""
    from cluster.takeover import carry_out as carried_out

    return carried_out(cluster, read, planned, lambda step: emit(plain(f"{step.title} ...")), longest=longest)


def _outcome(plan: TakeoverPlan, undo: bool) -> Iterator[str]:
    if plan.refusals:
        yield "stopped here; call it again when this is in order:"
        yield from _refusals(plan)
    elif undo:
        yield "Kueue's manager has the cluster again"
    else:
        yield "Quotree has the cluster; quotree install take-over --undo gives it back"


def plan_lines(plan: TakeoverPlan, most: int | None = None) -> Iterator[str]:
    """The plan for people; `most`: the number of writes shown for each step; None shows all."""
    yield from _refusals(plan)
    for number, step in enumerate(plan.steps, start=1):
        yield plain(f"{number}. {step.title}{' (done)' if step.done else ''}")
        yield from (f"     {plain(_write(write))}" for write in step.writes[:most])
        if most is not None and len(step.writes) > most:
            yield f"     and {len(step.writes) - most} more"
    yield from (plain(f"note: {note}") for note in plan.notes)


def _refusals(plan: TakeoverPlan) -> Iterator[str]:
    yield from (plain(f"refused: {refusal}") for refusal in plan.refusals)


def _write(write: PlannedWrite) -> str:
    if write.body is None:
        return f"delete {write.ref}"
    return f"{'change' if write.version else 'create'} {write.ref}"
