"""The components of the style sheet on one page, drawn by the templates of the dashboard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, select_autoescape
from werkzeug.datastructures import MultiDict

import dashboard
from dashboard.pages.formatting import bar_of, coded
from dashboard.pages.ink import no_ink
from dashboard.pages.picture import picture
from dashboard.pages.view import view_of
from dashboard.trees.contention import ContendedTree
from dashboard.trees.icicle import NARROW, WIDE
from dashboard.trees.tree import STATES, FlavorPair
from tests.dashboard.trees.entries import kueue, tree

_HERE = Path(__file__).parent


def components() -> str:
    """The page as HTML; it needs the style sheet."""
    folders = [_HERE, Path(dashboard.__file__).parent / "templates"]
    env = Environment(loader=FileSystemLoader(folders), autoescape=select_autoescape(), trim_blocks=True)
    env.globals["no_ink"], env.filters["coded"] = no_ink, coded  # which the macros of the templates need
    found = ContendedTree(tree(*_nodes()))
    view = view_of(found, "Kueue", MultiDict({"q": "queue"}))
    pair = FlavorPair("spot", "cpu")
    bars = {node.name.removeprefix("queue-"): bar_of(node.amounts(pair)) for node in found.nodes.values()}
    return env.get_template("components.html").render(
        pictures=[picture(found, view, width) for width in (WIDE, NARROW)],
        states=STATES,
        bars=bars,
    )


def _nodes() -> list[dict[str, Any]]:
    """A queue in each state, and one that a search dims."""
    beyond = kueue("queue-over", "org", "10", "16", borrowed="6")
    beyond["quota"][0]["own"]["over"] = "3"
    return [
        kueue("org", cohort=True, quota="10", below="80", used="48"),
        kueue("queue-idle", "org", "10"),
        kueue("queue-used", "org", "10", "6", pending=2),
        kueue("queue-full", "org", "10", "10", pending=3),
        kueue("queue-borrowing", "org", "10", "16", borrowed="6"),
        beyond,
        kueue("queue-stopped", "org", "10", pending=1) | {"inactive": "Can't admit: is stopped."},
        kueue("queue-inactive", "org", "10") | {"inactive": "Can't admit: references missing ResourceFlavor(s): spot."},
        kueue("another", "org", "10", "5"),
    ]
