"""Make, renew or show the webhook's certificates."""

from __future__ import annotations

from pathlib import Path

import click

from cli.exits import EXIT_CODES_OF_ACTIONS


@click.command(epilog=EXIT_CODES_OF_ACTIONS)
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--name",
    "names",
    metavar="DNS|IP",
    multiple=True,
    help="A name of the webhook, repeatable. Default: the names in the present certificate, else loopback.",
)
@click.option("--show", is_flag=True, help="Show the certificates and change nothing.")
def certs(folder: Path, names: tuple[str, ...], show: bool) -> None:
    """Keep a certificate authority and a serving certificate in FOLDER, and show them.

    The command creates or renews what is missing, too old or lacks a name: ca.crt (for clients), tls.crt and tls.key
    (for the server) and ca.key. A running `quotree serve webhook` serves the new certificate at once. In a cluster,
    `serve webhook --secret` does all this itself.

    \b
    Examples:
      quotree certs ./certs --name quotree.example
      quotree certs ./certs --show
    """
    from cli.actions.certificates import keep  # imported late: see cli/actions

    keep(folder, names, show=show)
