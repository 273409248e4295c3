"""The namespace of a kubeconfig context, which is the default for commands with `--namespace`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cluster.endpoint import DEFAULT_KUBECONFIG, in_pod
from cluster.errors import NotConfigured
from cluster.kubeconfig_file import read_file
from cluster.plain_login import SERVICE_ACCOUNT
from policies.dialects.reading import listing, mapping, text

DEFAULT = "default"


def namespace_of(context: str | None = None, kubeconfig: str | None = None) -> str:
    """The namespace of a context, or `default`; in a pod without a kubeconfig, the pod's. Raises NotConfigured."""
    if context is None and kubeconfig is None and in_pod():
        return _of_pod()
    files = kubeconfig or os.environ.get("KUBECONFIG") or DEFAULT_KUBECONFIG
    try:
        found = [read_file(str(path)) for path in _present(files)]
    except (OSError, UnicodeDecodeError) as error:
        raise NotConfigured(f"{files}: {error}") from error
    wanted = context or next((name for config in found if (name := text(config.get("current-context")))), None)
    for entry in (mapping(each) for config in found for each in listing(config.get("contexts"))):
        if entry.get("name") == wanted:  # if several files have this context, the first one counts
            return text(mapping(entry.get("context")).get("namespace")) or DEFAULT
    return DEFAULT


def _present(files: str) -> Iterator[Path]:
    return (path for each in files.split(os.pathsep) if each and os.path.isfile(path := Path(each).expanduser()))


def _of_pod(folder: Any = SERVICE_ACCOUNT) -> str:
    try:
        return (folder / "namespace").read_text().strip() or DEFAULT
    except (OSError, UnicodeDecodeError):
        return DEFAULT
