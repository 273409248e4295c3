"""Render manifests for a cluster: policies for the time when the webhook is down."""

from __future__ import annotations

from pathlib import Path

import click
import yaml

from cli.exits import Misused, OutOfReach
from cli.output import emit
from policies.vap.admission_policies import policies


class _Readable(yaml.SafeDumper):
    """Writes a text of several lines as a block; CEL expressions would be unreadable in quotes."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Readable.add_representer(str, _text)


@click.group()
def install() -> None:
    """Render manifests for a cluster."""


@install.command()
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
    """
    if not vap:
        raise Misused("name what to render: add --vap")
    text = yaml.dump_all(policies(), Dumper=_Readable, sort_keys=False, width=120)
    if file is None:
        emit(text.rstrip("\n"))
        return
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutOfReach(f"{file}: {error.strerror}") from error
