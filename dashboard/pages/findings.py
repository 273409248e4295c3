"""What the audit found: every rule on everything that is stored, by tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from dashboard.pages.formatting import offset_of
from dashboard.reading.cache import CachedReader

PAGE = 200
_FILTERS = ("root", "namespace")


def page(reader: CachedReader, query: Mapping[str, str]) -> dict[str, Any]:
    """One page of findings for the template. Raises ClusterError: NotFound if there is no audit."""
    chosen = {name: query[name] for name in _FILTERS if query.get(name)}
    offset = offset_of(query)
    found = reader.findings({**chosen, "offset": str(offset), "limit": str(PAGE + 1)})
    items = found["items"]
    return {
        "judged": found.get("judged", ""),
        "roots": found.get("roots") or [],
        "items": items[:PAGE],
        "baselined": found.get("baselined") or 0,
        "chosen": chosen,
        "first": offset + 1,
        "before": _url(chosen, max(0, offset - PAGE)) if offset else "",
        "after": _url(chosen, offset + PAGE) if len(items) > PAGE else "",
    }


def _url(chosen: Mapping[str, str], offset: int) -> str:
    return "/findings?" + urlencode({**chosen, "offset": offset})
