"""Limits of the open entries of one object, one namespace and one author.

Without them, a user who may write in one namespace could fill the ledger for everyone.
"""

from __future__ import annotations

from collections.abc import Sequence

from policies.dialects.core import CONFIG_MAP
from webhook.ledger.entry import LedgerEntry

MOST_OF_OBJECT, MOST_OF_NAMESPACE = 20, 50
"""The most open entries of an object and of a namespace. Nearly all open entries are of requests that failed after they
were allowed: others are open for milliseconds only."""
LONGEST_ENTRY, BYTES_OF_NAMESPACE, BYTES_OF_AUTHOR = 64 * 1024, 64 * 1024, 300 * 1024
"""The most bytes of one entry, of all open entries of a namespace, and of all open entries of an author. YuniKorn's own
ConfigMaps are exempt."""


def crowded(entry: LedgerEntry, entries: Sequence[LedgerEntry]) -> tuple[tuple[LedgerEntry, ...], str]:
    """The open entries that leave no room for this one, and a message; both empty if there is room."""
    if entry.ref.group_kind == CONFIG_MAP:
        return (), ""  # no limits: YuniKorn has only two ConfigMaps
    size = len(entry.text)
    if size > LONGEST_ENTRY:
        return (), f"{entry.ref} takes {size} bytes of the ledger, and one object may take {LONGEST_ENTRY}"
    namespace = entry.ref.namespace
    same = tuple(each for each in entries if each.ref == entry.ref)
    if len(same) >= MOST_OF_OBJECT:
        return same, f"{len(same)} other changes of {entry.ref} are not stored yet; try again in a minute"
    beside = tuple(each for each in entries if namespace and each.ref.namespace == namespace)
    if len(beside) >= MOST_OF_NAMESPACE or _bytes(beside) + size > BYTES_OF_NAMESPACE:
        return beside, f"{len(beside)} changes in namespace {namespace} are not stored yet; try again in a minute"
    own = tuple(each for each in entries if each.author == entry.author)
    if _bytes(own) + size > BYTES_OF_AUTHOR:
        return own, f"{len(own)} changes of {entry.author} are not stored yet; try again in a minute"
    return (), ""


def _bytes(entries: Sequence[LedgerEntry]) -> int:
    return sum(len(each.text) for each in entries)
