"""Completes the contexts of a kubeconfig, without the client, which takes long to load."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import click
from click.shell_completion import CompletionItem

_DEFAULT = "~/.kube/config"
_MOST = 16 * 2**20
"""The maximum size of a file, in bytes."""


def complete_context(
    ctx: click.Context, _: click.Parameter | None, incomplete: str, prefix: str = ""
) -> list[CompletionItem[str]]:
    """The contexts that begin with `incomplete`, each with `prefix` before it."""
    names = sorted(set(_names(ctx.params.get("kubeconfig"))))
    return [CompletionItem(prefix + name) for name in names if name.startswith(incomplete)]


def _names(kubeconfig: str | None) -> Iterator[str]:
    """The names of the contexts; empty if the kubeconfig cannot be read, since a completion reports no errors."""
    from policies.dialects.reading import listing, mapping, text  # here, since these take long to load
    from policies.text.positions import BadText
    from policies.text.yaml_values import single

    files = kubeconfig or os.environ.get("KUBECONFIG") or _DEFAULT
    for file in filter(None, files.split(os.pathsep)):
        path = Path(file).expanduser()
        try:
            if path.stat().st_size > _MOST:
                continue
            value = single(path.read_text(encoding="utf-8-sig"))
        except (OSError, ValueError, BadText):
            continue
        for each in listing(mapping(value).get("contexts")):
            name = text(mapping(each).get("name"))
            if name is not None and name.isprintable():
                yield name
