"""The table of commands in docs/command-line.md, from the docstrings in cli/commands/."""

from __future__ import annotations

import re

import click

from cli.group import quotree, summary
from generators.files import ROOT, table

PAGE = "docs/command-line.md"


def generate() -> dict[str, dict[str, str]]:
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    return {PAGE: {"commands": _table(text)}}


def _table(sections: str) -> str:
    names = quotree.list_commands(click.Context(quotree))
    return table("| command | does |", ((_linked(name, sections), summary(name)) for name in names))


def _linked(name: str, sections: str) -> str:
    """The command, with a link to the first section whose heading names it."""
    for heading in re.findall(r"^## (quotree .*)$", sections, re.MULTILINE):
        if name in re.findall(r"[\w-]+", heading):
            anchor = re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")
            return f"[`quotree {name}`](#{anchor})"
    return f"`quotree {name}`"
