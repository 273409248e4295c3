"""Make, renew or show the webhook's certificates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.exits import EXIT_CODES_OF_ACTIONS, Misused, OutOfReach
from cli.output import emit

if TYPE_CHECKING:
    from certs.rotate import Bundle


@click.command(epilog=EXIT_CODES_OF_ACTIONS)
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--name",
    "names",
    metavar="DNS|IP",
    multiple=True,
    help="A name of the webhook, repeatable. Default: the names in the present certificate, else loopback.",
)
@click.option("--show", is_flag=True, help="Show what is there; change nothing.")
def certs(folder: Path, names: tuple[str, ...], show: bool) -> None:
    """Keep a certificate authority and a serving certificate in FOLDER, and show them.

    The command makes what is missing, too old or lacks a name: ca.crt (for clients), tls.crt and tls.key (for the
    server) and ca.key. A running `quotree serve webhook` serves the new certificate at once. In a cluster,
    `serve webhook --secret` does all this itself.

    \b
    Examples:
      quotree certs ./certs --name quotree.example
      quotree certs ./certs --show
    """
    from certs import files  # here, since cryptography takes long to load
    from certs.pki import BadCertificate

    try:
        bundle = files.read(folder) if folder.is_dir() else None
        if show and bundle is None:
            raise Misused(f"{folder}: there are no certificates; run without --show to make them")
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
    from cli.serving.certificates import LOOPBACK

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
