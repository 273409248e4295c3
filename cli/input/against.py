"""The type of the option --against. `cli.input.context` reads the context; it takes longer to load."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import click
from click.shell_completion import CompletionItem

from analysis.context_name import ContextName
from cli.exits import Misused
from cli.input.contexts import complete_context
from cli.input.login import ClusterLogin, read_login


@dataclass(frozen=True, slots=True)
class Against(ContextName):
    """The value of --against. `login`: how to connect to a cluster."""

    login: ClusterLogin = field(default=ClusterLogin(), compare=False)


def reached(against: Against, options: Mapping[str, Any]) -> Against:
    """Add the login of the other options. Raises Misused if they contradict --against."""
    login = read_login(options)
    if against.kind != "cluster":
        if login != ClusterLogin():
            raise Misused(f"{_first(login)} is for a cluster: use it with --against cluster, not with {against}")
        return against
    if against.name and login.context not in (None, against.name):
        raise Misused(f"--context {login.context} and --against cluster:{against.name} name two contexts; keep one")
    context = login.context or against.name or None
    return replace(against, name=context or "", login=replace(login, context=context))


def _first(login: ClusterLogin) -> str:
    """The first option for a login that the user has set."""
    options = {
        "--context": login.context,
        "--kubeconfig": login.kubeconfig,
        "--as": login.user,
        "--request-timeout": login.timeout,
    }
    return next(option for option, value in options.items() if value is not None)


_KINDS = ("nothing", "files:", "snapshot:", "cluster", "cluster:")
"""The prefixes of values, for completion."""


class AgainstType(click.ParamType[Against]):
    """Reads `nothing`, `files:DIR`, `snapshot:FILE`, `cluster` and `cluster:CONTEXT`."""

    name = "against"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002, click's signature
        return "nothing|files:DIR|snapshot:FILE|cluster[:CONTEXT]"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
        kind, colon, name = incomplete.partition(":")
        if not colon:
            return [CompletionItem(each) for each in _KINDS if each.startswith(incomplete)]
        return complete_context(ctx, param, name, "cluster:") if kind == "cluster" else []

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Against:
        if isinstance(value, Against):
            return value
        kind, colon, name = str(value).partition(":")
        if kind in ("files", "snapshot") and name and not os.path.exists(name):
            self.fail(f"{name}: no such file or folder", param, ctx)
        named = bool(name) and kind in ("files", "snapshot", "cluster")
        bare = not colon and kind in ("nothing", "cluster")
        if not named and not bare:
            self.fail(f"{value!r} is not one of: nothing, files:DIR, snapshot:FILE, cluster, cluster:NAME", param, ctx)
        return Against(kind, name)
