"""Reads a queues.yaml: as a whole, or from the difference to a text that was read before."""

from __future__ import annotations

from functools import lru_cache

from policies.dialects.yunikorn_config.decode import DecodedText, read_whole
from policies.dialects.yunikorn_config.edits import difference, edited
from policies.dialects.yunikorn_config.model import Config

_LARGE = 2**12
"""The least number of characters for which the difference is searched. A shorter text is read in 3 ms."""
_KEPT = 4
"""How many texts are remembered: the tree of the cluster, and the changes of it that are being judged."""

_last: tuple[DecodedText, ...] = ()


@lru_cache(maxsize=8)  # all rules read the same one or two texts
def read_config(text: str) -> Config:
    """Read the configuration. The faults of the text itself are in its `problems`.

    Only the first document counts, and a text without a document has no partitions. If the text differs from a
    remembered one within one queue, only that queue is parsed.
    """
    global _last
    if len(text) < _LARGE:
        return read_whole(text).config
    nearest = min(_last, key=lambda last: difference(last.text, text).size, default=None)
    found = (edited(nearest, text) if nearest else None) or read_whole(text)
    _last = (found, *_last[: _KEPT - 1])  # if two threads do this at once, one of the texts is not remembered
    return found.config
