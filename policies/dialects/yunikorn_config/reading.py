"""The configuration of a text: read from zero, or from the last text and what differs."""

from __future__ import annotations

from functools import lru_cache

from policies.dialects.yunikorn_config.decode import DecodedText, read_whole
from policies.dialects.yunikorn_config.edits import difference, edited
from policies.dialects.yunikorn_config.model import Config

_LARGE = 2**12
"""The length from which a search for the difference pays, in characters; a shorter one is read in 3 ms."""
_KEPT = 4
"""A cluster has one tree, and changes to it that are being judged."""

_last: tuple[DecodedText, ...] = ()


@lru_cache(maxsize=8)  # all rules read the same one or two texts of a request
def read_config(text: str) -> Config:
    """The configuration that the text holds; the faults of the text itself are in `problems`.

    Only the first document counts, and a text without one has no partitions. Costs what differs from a text that was
    read lately where that is within one queue, and else the length of the text.
    """
    global _last
    if len(text) < _LARGE:
        return read_whole(text).config
    nearest = min(_last, key=lambda last: difference(last.text, text).size, default=None)
    found = (edited(nearest, text) if nearest else None) or read_whole(text)
    _last = (found, *_last[: _KEPT - 1])  # another thread may do so at this moment: then one of the two is not kept
    return found.config
