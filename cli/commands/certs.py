"""`quotree certs`: the webhook's certificates where no cluster keeps them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.exits import EPILOG, Misused, OutOfReach
from cli.group import verbose
from cli.report.output import emit

if TYPE_CHECKING:
    from certs.rotate import Bundle

LOOPBACK = ("localhost", "127.0.0.1", "::1")
"""The names of a server that is called from this machine only."""


@click.command(epilog=EPILOG)
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--name",
    "names",
    metavar="DNS|IP",
    multiple=True,
    help="A name by which the webhook is called, repeatable; else those of the present certificate, else loopback.",
)
@click.option("--show", is_flag=True, help="Only tell what is there; change nothing.")
@verbose
def certs(folder: Path, names: tuple[str, ...], show: bool) -> None:
    """Keep a certificate authority and a serving certificate in FOLDER, and tell their facts.

    What is missing, too old or lacks a name is made anew: ca.crt (for clients), tls.crt and tls.key (for the server)
    and ca.key. A running `quotree serve webhook` serves the new ones at once. In a cluster, `serve webhook --secret`
    does all this by itself.
    """
    from certs import files  # here, since cryptography takes long to load and only this needs it
    from certs.pki import BadCertificate

    try:
        bundle = files.read(folder) if folder.is_dir() else None
        if show and bundle is None:
            raise Misused(f"{folder}: no certificates there; without --show they are made")
        if not show:
            bundle = files.ensure(folder, names or _present(bundle), datetime.now(UTC))
    except (BadCertificate, ValueError) as error:
        raise Misused(str(error)) from error
    except OSError as error:
        raise OutOfReach(str(error)) from error
    assert bundle is not None
    emit("\n".join(_facts(folder, bundle)))


def _present(bundle: Bundle | None) -> Sequence[str]:
    from certs.pki import inspect

    return sorted(inspect(bundle.server.certificate).names) if bundle else LOOPBACK


def _facts(folder: Path, bundle: Bundle) -> Iterator[str]:
    from certs.pki import inspect
    from certs.rotate import renew_at

    for pem in bundle.trusted:
        facts = inspect(pem)
        yield f"{folder / 'ca.crt'}: {facts.subject}, valid until {_day(facts.not_after)}"
    server = inspect(bundle.server.certificate)
    yield f"{folder / 'tls.crt'}: for {', '.join(sorted(server.names))}"
    yield f"    signed by {server.issuer}, valid until {_day(server.not_after)}, renewed after {_day(renew_at(bundle))}"


def _day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"
