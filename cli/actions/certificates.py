"""Creates, renews or shows the webhook's certificates in a folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from certs import files
from certs.pki import BadCertificate, inspect
from certs.rotate import Bundle, renew_at
from cli.exits import Misused, OutOfReach
from cli.output import emit
from cli.serving.certificates import LOOPBACK


def keep(folder: Path, names: tuple[str, ...], *, show: bool) -> None:
    """Create or renew certificates that are missing, too old or lack a name, and print them. `show`: change nothing.

    Raises Misused and OutOfReach.
    """
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
    return sorted(inspect(bundle.server.certificate).names) if bundle else LOOPBACK


def _facts(folder: Path, bundle: Bundle) -> Iterator[str]:
    for pem in bundle.trusted:
        facts = inspect(pem)
        yield f"{folder / 'ca.crt'}: {facts.subject}, valid until {_day(facts.not_after)}"
    server = inspect(bundle.server.certificate)
    yield f"{folder / 'tls.crt'}: for {', '.join(sorted(server.names))}"
    yield f"    signed by {server.issuer}, valid until {_day(server.not_after)}, renewed after {_day(renew_at(bundle))}"


def _day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"
