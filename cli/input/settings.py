"""The configuration: --config, else QUOTREE_CONFIG, else `.quotree.yaml` upward from the first input, else defaults."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from cli.exits import Misused
from policies.configuration.settings import Configuration
from policies.model.errors import PolicyError
from policies.model.findings import Profile

T = TypeVar("T")
FILE = ".quotree.yaml"
VARIABLE = "QUOTREE_CONFIG"


def settings(option: str | None, paths: Sequence[str], profile: str | None = None) -> Configuration:
    """The configuration in force; without inputs no folder is searched.

    Raises Misused, naming file and key.
    """
    file = configuration_file(option, paths)
    configuration = _load(file) if file else Configuration()
    return replace(configuration, profile=Profile(profile)) if profile else configuration


def configuration_file(option: str | None, paths: Sequence[str]) -> str | None:
    """The file of the configuration in force; None for the defaults."""
    return option or os.environ.get(VARIABLE) or (_upward(paths) if paths else None)


def _upward(paths: Sequence[str]) -> str | None:
    first = Path(next((path for path in paths if path != "-"), ".")).absolute()
    for folder in (first, *first.parents):
        if (folder / FILE).is_file():
            return str(folder / FILE)
    return None


def _load(file: str) -> Configuration:
    from policies.configuration.file import read_configuration  # here, since it takes all rules
    from policies.rules import registry

    return read_file(file, lambda manifest: read_configuration(manifest, registry()))


def read_gates(options: Sequence[str]) -> dict[str, bool]:
    """Feature gates in the form of Kueue's flag: `A=true,B=false`. Raises Misused."""
    gates: dict[str, bool] = {}
    for entry in ",".join(options).split(",") if options else ():
        gate, _, value = entry.strip().partition("=")
        if not gate or value.lower() not in ("true", "false"):
            raise Misused(f"--feature-gates {entry!r}: write GATE=true or GATE=false")
        gates[gate] = value.lower() == "true"
    return gates


def read_file(file: str, reader: Callable[[Mapping[str, Any]], T]) -> T:
    """The result of `reader` for the one document of a file. Raises Misused, naming file, line and key."""
    if not Path(file).is_file():
        raise Misused(f"{file}: no such configuration file")
    from cli.input.documents import read  # here, since a process without a file needs no YAML

    documents, unreadable = read([file], io.BytesIO())
    for failure in unreadable:
        raise Misused(f"{failure.place}: {failure.message}")
    if len(documents) != 1:
        raise Misused(f"{file}: a configuration is one document, but there are {len(documents)}")
    try:
        return reader(documents[0].manifest)
    except PolicyError as error:
        raise Misused(f"{documents[0].place(getattr(error, 'at', ''))}: {error}") from error
