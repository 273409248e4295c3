"""`quotree install`: what a cluster needs besides the webhook."""

from __future__ import annotations

from pathlib import Path

import click
import yaml

from cli.exits import EPILOG, Misused, OutOfReach
from cli.group import verbose
from cli.report.output import emit
from policies.vap.admission_policies import policies


class _Readable(yaml.SafeDumper):
    """Writes texts of several lines as they are; expressions would be unreadable in quotes."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Readable.add_representer(str, _text)


@click.group(epilog=EPILOG)
def install() -> None:
    """Write manifests to be applied to a cluster."""


@install.command(epilog=EPILOG)
@click.option("--vap", is_flag=True, help="ValidatingAdmissionPolicies of the rules that one object decides.")
@click.option(
    "-o", "--output", "file", type=click.Path(dir_okay=False, path_type=Path), help="A file; else standard output."
)
@verbose
def render(vap: bool, file: Path | None) -> None:
    """Render manifests as YAML, for `kubectl apply -f`.

    With --vap: policies that the API server judges by itself, without the webhook, so that what one object decides is
    refused also while the webhook is down. Rules that need the tree are not among them.
    """
    if not vap:
        raise Misused("nothing to render is named: add --vap")
    text = yaml.dump_all(policies(), Dumper=_Readable, sort_keys=False, width=120)
    if file is None:
        emit(text.rstrip("\n"))
        return
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutOfReach(f"{file}: {error.strerror}") from error
