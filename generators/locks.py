"""Reads the pinned packages of a lock file, and the licences of the installed packages."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from cyclonedx.spdx import fixup_id, is_expression

from generators.files import ROOT

_PIN = re.compile(
    r"^(?P<name>[a-z0-9._-]+)==(?P<version>\S+)(?: ; (?P<marker>.*?))? \\\n(?P<rest>(?:[ ]+.*\n?)*)", re.M
)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_VIA = re.compile(r"^ +#(?: via)? +([a-z0-9._-]+)(?: \(.*\))?$", re.MULTILINE)
_SPDX = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
"""Names of licences in the metadata of packages that are not SPDX identifiers, each with its identifier."""


@dataclasses.dataclass(frozen=True)
class Pin:
    """A pinned package.

    `marker`: the environments that need it, as in PEP 508; empty for all.
    `hashes`: the SHA-256 of each file that may be installed, in hexadecimal digits.
    `wanted_by`: the packages that need it; `quotree` is this project.
    """

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]
    wanted_by: tuple[str, ...]

    @property
    def licence(self) -> str | None:
        """The licence as an SPDX expression; None if the package is not installed here.

        Raises LookupError if the package names no licence.
        """
        try:
            return _licence(metadata.metadata(self.name))
        except metadata.PackageNotFoundError:
            if self.marker:
                return None
            raise


def pins(lock: str, source: Path = ROOT) -> Iterator[Pin]:
    """The pinned packages of a file in requirements/, in its order. `source`: the source tree with this folder."""
    for found in _PIN.finditer((source / "requirements" / lock).read_text(encoding="utf-8")):
        wanted_by = tuple(name for name in _VIA.findall(found["rest"]) if name != "via")
        yield Pin(
            found["name"], found["version"], found["marker"] or "", tuple(_HASH.findall(found["rest"])), wanted_by
        )


def _licence(package: metadata.PackageMetadata) -> str:
    if "License-Expression" in package:
        return package["License-Expression"]
    classifiers = package.get_all("Classifier") or []
    names = [package["License"].strip()] if "License" in package else []
    names += [each.split(" :: ")[-1] for each in classifiers if each.startswith("License :: ")]
    for name in names:
        found = fixup_id(name) or _SPDX.get(name) or (name if name and is_expression(name) else None)
        if found:
            return found
    raise LookupError(f"{package['Name']} names no licence that SPDX knows: {names}")
