"""The page with the findings of the audit, by tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from dashboard.pages.formatting import offset_of
from dashboard.pages.installed import CertificateSources
from dashboard.pages.morning import beside_rules
from dashboard.pages.parts import Tile
from dashboard.reading.cache import CachedReader

PAGE = 200
_FILTERS = ("root", "namespace")


def page(reader: CachedReader, query: Mapping[str, str], sources: CertificateSources) -> dict[str, Any]:
    """The variables of the template: one page of findings. Raises ClusterError: NotFound if there is no audit.

    Its first page without a filter also has the problems that no rule finds, as on the page Now.
    """
    chosen = {name: query[name] for name in _FILTERS if query.get(name)}
    offset = offset_of(query)
    found = reader.findings({**chosen, "offset": str(offset), "limit": str(PAGE + 1)})
    items = found["items"]
    if offset and not items:  # there are fewer findings than before
        return page(reader, chosen, sources)
    first = offset + 1
    beside = [] if chosen or offset else beside_rules(reader, sources)
    return {
        "beside": beside,
        "tiles": [] if chosen or offset or len(items) > PAGE else _tiles(items, len(beside)),
        "number": _number(first, len(items[:PAGE]), whole=not offset and len(items) <= PAGE),
        "judged": found.get("judged", ""),
        "roots": found.get("roots") or [],
        "items": items[:PAGE],
        "baselined": found.get("baselined") or 0,
        "chosen": chosen,
        "before": _url(chosen, max(0, offset - PAGE)) if offset else "",
        "after": _url(chosen, offset + PAGE) if len(items) > PAGE else "",
    }


def _tiles(items: Sequence[Mapping[str, Any]], beside: int) -> list[Tile]:
    found = []
    if beside:
        what = "problem of workers or Quotree" if beside == 1 else "problems of workers or Quotree"
        found.append(Tile(beside, what, "#beside", "bad"))
    counts = Counter(str(each["severity"]) for each in items)
    for name, state in (("error", "bad"), ("warning", "pending")):
        number = counts[name]
        what, url = name if number == 1 else f"{name}s", "#rules" if beside else ""
        found.append(Tile(number, what, url, state if number else ""))
    return found


def _number(first: int, number: int, *, whole: bool) -> str:
    if whole:
        return "1 finding" if number == 1 else f"{number} findings"
    return f"Findings {first} to {first + number - 1}"


def _url(chosen: Mapping[str, str], offset: int) -> str:
    return "/findings?" + urlencode({**chosen, "offset": offset})
