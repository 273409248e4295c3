"""Completes the contexts of a kubeconfig, without the client, which takes long to load."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import click
from click.shell_completion import CompletionItem

_DEFAULT = "~/.kube/config"


def complete_context(
    ctx: click.Context, _: click.Parameter | None, incomplete: str, prefix: str = ""
) -> list[CompletionItem[str]]:
    """The contexts that begin with `incomplete`, each with `prefix` before it."""
    names = sorted(set(_names(ctx.params.get("kubeconfig"))))
    return [CompletionItem(prefix + name) for name in names if name.startswith(incomplete)]


def _names(kubeconfig: str | None) -> Iterator[str]:
    """The names of the contexts; empty if the kubeconfig cannot be read, since a completion reports no errors."""
    from cluster.errors import NotConfigured  # here, since these take long to load
    from cluster.kubeconfig_file import read_file
    from policies.dialects.reading import listing, mapping, text

    files = kubeconfig or os.environ.get("KUBECONFIG") or _DEFAULT
    for file in filter(None, files.split(os.pathsep)):
        try:
            config = read_file(str(Path(file).expanduser()))
        except (OSError, ValueError, NotConfigured):
            continue
        for each in listing(config.get("contexts")):
            name = text(mapping(each).get("name"))
            if name is not None and name.isprintable():
                yield name
