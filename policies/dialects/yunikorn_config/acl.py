"""Access control lists of queues: `*`, or two comma-separated lists, of users and of groups, with a space between."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

EVERYBODY = "*"

_USER = re.compile(r"[_a-zA-Z][a-zA-Z0-9_.@-]*\$?").fullmatch
_GROUP = re.compile(r"[_a-zA-Z][a-zA-Z0-9_-]*").fullmatch


class BadAcl(ValueError):
    """YuniKorn cannot load the text as an ACL."""


@dataclass(frozen=True, slots=True)
class Acl:
    """An access control list.

    `everybody`: whether it is `*`.
    `dropped`: the names that YuniKorn ignores without a message.
    """

    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    everybody: bool = False
    dropped: tuple[str, ...] = ()

    def allows(self, user: str, groups: Collection[str]) -> bool:
        return self.everybody or user in self.users or any(group in self.groups for group in groups)


def passes_check(text: str) -> bool:
    """Whether YuniKorn's validation accepts the text. The loader is stricter."""
    return len(text.split()) <= 2


def load(text: str) -> Acl:
    """Read the ACL as the loader does, which splits the text at every space. Raises BadAcl."""
    if not text:
        return Acl()
    parts = text.split(" ")
    if len(parts) > 2:
        raise BadAcl(f"has {len(parts) - 1} spaces")
    users = parts[0].split(",")
    groups = parts[1].split(",") if len(parts) == 2 else []
    if text.strip() == EVERYBODY or users == [EVERYBODY] or groups == [EVERYBODY]:
        return Acl(everybody=True)
    return Acl(
        users=tuple(dict.fromkeys(filter(_USER, users))),
        groups=tuple(dict.fromkeys(filter(_GROUP, groups))),
        dropped=tuple(
            name for names, fits in ((users, _USER), (groups, _GROUP)) for name in names if name and not fits(name)
        ),
    )
