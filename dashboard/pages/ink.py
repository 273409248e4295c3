"""The colors of a drawing in a downloaded SVG file: those of the style sheet's light theme, since files are printed.

They are written as attributes, not as CSS: every SVG program supports attributes, and no Content-Security-Policy
forbids them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from markupsafe import Markup

_SHEET = Path(__file__).parents[1] / "static" / "style.css"
_INKS: Mapping[str, Mapping[str, str]] = {
    "quota": {"fill": "panel", "stroke": "edge"},
    "idle": {"fill": "idle", "stroke": "edge"},
    "used": {"fill": "used"},
    "text": {"fill": "text"},
    "badge": {"fill": "text"},
    "badge-text": {"fill": "ground"},
    "over-mark": {"fill": "over"},
    "stopped-mark": {"fill": "stopped"},
    "inactive-mark": {"fill": "over"},
    "borrowed-ground": {"fill": "borrowed-ground"},
    "borrowed-stripe": {"fill": "borrowed"},
    "over-ground": {"fill": "ground"},
    "over-stripe": {"fill": "over"},
    "own-ground": {"fill": "panel"},
    "own-dot": {"fill": "edge"},
    "stopped-ground": {"fill": "idle"},
    "stopped-stripe": {"fill": "stopped"},
    "line": {"fill": "none", "stroke": "link"},
    "limit": {"stroke": "edge"},
    "kept": {"fill": "edge"},
    "gained": {"fill": "link"},
    "lost": {"fill": "none", "stroke": "edge"},
}
_PATTERNS = ("borrowed", "over", "own", "stopped")


@cache
def _colors() -> Mapping[str, str]:
    """The colors of the light theme, by the name of their CSS variable."""
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", _SHEET.read_text().partition("@media")[0]))


def file_ink(name: str) -> Markup:
    """The color attributes of an element, by the name of its role."""
    if name in _PATTERNS:
        return Markup(' fill="url(#{})"').format(name)
    colors = _colors()
    return Markup("").join(
        Markup(' {}="{}"').format(what, colors.get(color, color)) for what, color in _INKS[name].items()
    )


def no_ink(_: str) -> str:
    """Returns nothing: on a page, the style sheet sets the colors."""
    return ""
