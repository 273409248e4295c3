"""Finds the configuration: --config, QUOTREE_CONFIG, a file in a parent folder of the first input, or the defaults."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from cli.exits import Misused
from cli.input.against import Against
from cli.input.regular_file import mentions
from cluster.errors import ClusterError
from policies.configuration.kueue.gates import LATEST, KueueVersion
from policies.configuration.settings import Configuration, Dialect, KueueSettings
from policies.model.errors import PolicyError
from policies.model.findings import Profile

T = TypeVar("T")
Installed = Callable[[], KueueVersion]
"""Returns the version of Kueue that is installed."""
FILES = (".quotree.yaml", "quotree.yaml")
_ROOTS = "roots"
"""The key with the organisations of a repository, which `cli.input.workspace` reads."""
_IS_OURS = re.compile(rb"config\.quotree\.dev/|^roots:", re.MULTILINE)
"""Matches a configuration file. A `quotree.yaml` may also be a manifest that installs Quotree."""
VARIABLE = "QUOTREE_CONFIG"
_MOST = 2**20
"""The maximum size in bytes of a file that is found by its name."""


def settings(
    option: str | None,
    paths: Sequence[str],
    profile: str | None = None,
    gates: Collection[Dialect] = frozenset(),
    installed: Installed = lambda: LATEST,
) -> Configuration:
    """The configuration that applies. Raises Misused with the file and the key.

    `option`: the value of --config. `paths`: the inputs near which a file is searched.
    `gates`, `installed`: see `read_configuration`.
    """
    file = configuration_file(option, paths)
    configuration = _load(file, gates, installed) if file else _default_configuration(gates, installed)
    return replace(configuration, profile=Profile(profile)) if profile else configuration


def configuration_file(option: str | None, paths: Sequence[str]) -> str | None:
    """The file of the configuration that applies; None for the defaults."""
    return named_configuration(option) or (_file_in_parents(paths) if paths else None)


def named_configuration(option: str | None) -> str | None:
    """The file that the user names by --config or QUOTREE_CONFIG; None if it has to be searched."""
    return option or os.environ.get(VARIABLE) or None


def _file_in_parents(paths: Sequence[str]) -> str | None:
    first = Path(next((path for path in paths if path != "-"), ".")).absolute()
    for folder in (first, *first.parents):
        for name in FILES:
            if os.path.isfile(folder / name) and (name.startswith(".") or mentions(folder / name, _IS_OURS, _MOST)):
                return str(folder / name)
    return None


def _default_configuration(gates: Collection[Dialect], installed: Installed) -> Configuration:
    if not gates:
        return Configuration(kueue=KueueSettings(version=installed()))
    from policies.configuration.file import API_VERSION, KIND, read_configuration  # here, since it takes all rules

    return read_configuration({"apiVersion": API_VERSION, "kind": KIND}, (), gates, installed)


def _load(file: str, gates: Collection[Dialect], installed: Installed) -> Configuration:
    from policies.configuration.file import read_configuration  # here, since it takes all rules
    from policies.rules import registry

    def read(manifest: Mapping[str, Any]) -> Configuration:
        rest = {key: value for key, value in manifest.items() if key != _ROOTS}
        return (
            read_configuration(rest, registry(), gates, installed) if rest else _default_configuration(gates, installed)
        )

    return read_file(file, read)


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
    """The result of `reader` for the only document of a file. Raises Misused with the file, line and key."""
    if not os.path.isfile(file):
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


def installed_beside(against: Against) -> Installed:
    """A function that returns the version in the cluster of --against, or the latest without a cluster.

    If the cluster does not answer, the function returns the latest version, and the command reports the error when it
    reads the cluster.
    """
    return partial(_installed_version, against) if against.kind == "cluster" else lambda: LATEST


def _installed_version(against: Against) -> KueueVersion:
    from cluster.installed_kueue import installed_kueue  # here, since it takes long to load

    try:
        with against.login.connect() as cluster:
            return installed_kueue(cluster)
    except ClusterError:
        return LATEST
