"""Render manifests for a cluster, and take over a cluster from Kueue's manager."""

from __future__ import annotations

from pathlib import Path

import click
import yaml

from cli.exits import EXIT_CODES_OF_ACTIONS, EXIT_CODES_OF_PLANS, Misused
from cli.input.installed import installed, step_timeout
from cli.input.login import ClusterLogin
from cli.input.login import login as login_option
from cli.output import emit, write
from cli.subcommands import SubCommands
from policies.takeover.objects import ReleaseNames
from policies.vap.admission_policies import policies


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
    text = manifest_yaml(policies())
    if file is None:
        emit(text.rstrip("\n"))
    else:
        write(str(file), text.rstrip("\n"))


@install.command()
@click.option(
    "--apply",
    "applied",
    is_flag=True,
    help="Carry the plan out. If it is interrupted, run it again: it continues where it stopped.",
)
@click.option("--undo", is_flag=True, help="Give the cluster back to Kueue's manager.")
@click.option("--plan", "plan_only", is_flag=True, help="With --undo: show the plan; change nothing.")
@installed
@login_option
@step_timeout
def take_over(
    applied: bool, undo: bool, plan_only: bool, names: ReleaseNames, login: ClusterLogin, timeout: int
) -> None:
    """Take a cluster over from Kueue's manager, or with --undo give it back.

    Without --apply and --undo the command shows each step and changes nothing. --undo changes the cluster at once; with
    --plan it only shows the steps. What was there before is kept in annotations of the objects. If a step is refused,
    the earlier steps remain, and the same command continues.

    \b
    Examples:
      quotree install take-over
      quotree install take-over --apply
      quotree install take-over --undo --plan
    """
    if applied and (undo or plan_only):
        raise Misused("--apply cannot be combined with --undo or --plan; leave one of them out")
    from cli.actions import takeover  # imported late: see cli/actions

    act = takeover.give_back if undo else takeover.take_over
    click.get_current_context().exit(act(login, names, float(timeout), dry_run=plan_only if undo else not applied))


class _Readable(yaml.SafeDumper):
    """Writes a text of several lines as a block scalar, since quoted CEL expressions are hard to read."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Readable.add_representer(str, _text)


def manifest_yaml(documents: list[dict[str, object]]) -> str:
    return yaml.dump_all(documents, Dumper=_Readable, sort_keys=False, width=120)
