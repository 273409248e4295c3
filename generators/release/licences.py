"""Reports the licences of the packages in the image, and checks that each is allowed.

`python -m generators.release.licences` prints the report. It exits with 1 if a licence is not in ALLOWED.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from license_expression import OR, Licensing, get_spdx_licensing

from generators.files import ROOT, table
from generators.locks import Pin, pins

ALLOWED = (
    *(
        "0BSD",
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "ISC",
        "MIT",
        "MIT-0",
        "PSF-2.0",
        "Python-2.0",
        "Unlicense",
    ),
    "MPL-2.0",  # requires us to publish changes of its files, but we do not change them
)
"""The SPDX identifiers of allowed licences. .github/dependency-review.yml has the same list for pull requests."""
_NOT_HERE = "not read: the package is for other platforms"


class ForbiddenLicenceError(Exception):
    """A package has a licence that is not in ALLOWED."""


def report(source: Path = ROOT) -> str:
    """A table of the packages in the image. Raises ForbiddenLicenceError, which names all that are not allowed."""
    locked = list(pins("runtime.txt", source))
    if refused := [f"{pin.name} {pin.version}: {pin.licence}" for pin in locked if not _may_be_used(pin)]:
        raise ForbiddenLicenceError(f"not in ALLOWED of generators/release/licences.py: {'; '.join(refused)}")
    return _written(locked)


def allowed(expression: str) -> bool:
    """Whether ALLOWED satisfies a licence expression: all parts of an AND, and at least one part of an OR."""
    return _is_allowed(_licensing().parse(expression))


@cache
def _licensing() -> Licensing:
    """It is kept, since it takes a tenth of a second to read all identifiers."""
    return get_spdx_licensing()


def _is_allowed(node: object) -> bool:
    parts = getattr(node, "args", ())
    if parts:
        return (any if isinstance(node, OR) else all)(map(_is_allowed, parts))
    return str(node) in ALLOWED


def _may_be_used(pin: Pin) -> bool:
    licence = pin.licence
    return licence is None or allowed(licence)


def _written(locked: Iterable[Pin]) -> str:
    rows = ((pin.name, pin.version, pin.licence or _NOT_HERE, ", ".join(pin.wanted_by)) for pin in locked)
    return (
        "# Licences of the packages in the image\n\n"
        "Quotree is under Apache-2.0. The image has the texts that the packages bring, in their `.dist-info` folders."
        f"\n\n{table('| package | version | licence | needed by |', rows)}\n"
    )


if __name__ == "__main__":
    try:
        print(report(), end="")
    except ForbiddenLicenceError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
