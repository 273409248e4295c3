"""Finds the caller of a request: the user of its token, or the user that its headers impersonate.

A proxy that has authenticated a person sends its own token and the impersonation headers of Kubernetes. The rights of
the impersonated user count. The proxy needs the right to impersonate exactly this user and these groups.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message

from cluster.access import Reviews, bearer
from cluster.api.header_text import received, to_send
from cluster.api.refusal import HttpRefusal
from cluster.reviews import Access, Caller

_USER, _GROUP = "Impersonate-User", "Impersonate-Group"
_MOST_GROUPS = 100
"""The maximum number of impersonated groups. The API server reviews the right to impersonate each of them."""
_LONGEST = 1024
_MOST_AT_ONCE = 16
"""The most requests of one caller that are answered at a time: a quarter of the connections of a server."""
_SERVICE_ACCOUNT = re.compile(r"system:serviceaccount:([^:]+):([^:]+)")
_ANONYMOUS = "system:anonymous"
_AUTHENTICATED, _UNAUTHENTICATED = "system:authenticated", "system:unauthenticated"


@dataclass(frozen=True, slots=True)
class Impersonated:
    """The user and the groups in the impersonation headers of a request."""

    user: str
    groups: tuple[str, ...] = ()

    def headers(self) -> list[tuple[str, str]]:
        return [(_USER, to_send(self.user)), *((_GROUP, to_send(group)) for group in self.groups)]

    def as_caller(self) -> Caller:
        """The impersonated user as a caller, with the groups that the API server adds."""
        groups = self.groups
        if not groups and (found := _SERVICE_ACCOUNT.fullmatch(self.user)):
            groups = ("system:serviceaccounts", f"system:serviceaccounts:{found[1]}")
        unknown = self.user == _ANONYMOUS or _UNAUTHENTICATED in groups
        added = _UNAUTHENTICATED if unknown else _AUTHENTICATED
        return Caller(self.user, groups=tuple(dict.fromkeys((*groups, added))))


def impersonated(headers: Message) -> Impersonated | None:
    """The user that a request impersonates; None if it impersonates nobody.

    Raises HttpRefusal for unsupported impersonation headers.
    """
    sent = sorted({name.lower() for name in headers if name.lower().startswith("impersonate-")})
    if not sent:
        return None
    if unknown := [name for name in sent if name not in (_USER.lower(), _GROUP.lower())]:
        raise HttpRefusal(400, f"header {unknown[0]} is not supported; send only {_USER} and {_GROUP}")
    users, groups = (list(map(received, headers.get_all(name, []))) for name in (_USER, _GROUP))
    if len(users) != 1 or not users[0]:
        raise HttpRefusal(400, f"send {_USER} once, with the name of a user")
    if len(groups) > _MOST_GROUPS or any(len(each) > _LONGEST for each in (*users, *groups)):
        raise HttpRefusal(400, f"at most {_MOST_GROUPS} groups are allowed, and names of at most {_LONGEST} characters")
    return Impersonated(users[0], tuple(dict.fromkeys(groups)))


class Callers:
    """Authenticates and authorizes callers through the API server. Methods raise HttpRefusal and ClusterError."""

    def __init__(self, reviews: Reviews) -> None:
        self._reviews = reviews
        self._answered: Counter[str] = Counter()
        self._lock = threading.Lock()

    def who(self, authorization: str | None, wanted: Impersonated | None = None) -> Caller:
        """`wanted`: the user that the owner of the token impersonates; None for no impersonation."""
        token = bearer(authorization)
        if not token:
            raise HttpRefusal(401, "send a token of the cluster: Authorization: Bearer TOKEN")
        caller = self._reviews.who(token)
        if caller is None:
            raise HttpRefusal(401, "the cluster does not know this token, or it has expired")
        if wanted is None:
            return caller
        self.demand(caller, *_impersonation(wanted))
        return wanted.as_caller()

    @contextmanager
    def place(self, caller: Caller) -> Iterator[None]:
        """Keep one of the caller's places while a request is answered. Raises HttpRefusal if all are taken."""
        key = _shares_places(caller)
        with self._lock:
            if self._answered[key] >= _MOST_AT_ONCE:
                raise HttpRefusal(429, f"{_MOST_AT_ONCE} other requests of {caller.name} are being answered; try again")
            self._answered[key] += 1
        try:
            yield
        finally:
            with self._lock:
                self._answered[key] -= 1
                if not self._answered[key]:
                    del self._answered[key]

    def may(self, caller: Caller, access: Access) -> bool:
        return self._reviews.may(caller, access)

    def demand(self, caller: Caller, *wanted: Access) -> None:
        for access in wanted:
            if not self._reviews.may(caller, access):
                raise HttpRefusal(403, f"{caller.name} may not {access}")


def _shares_places(caller: Caller) -> str:
    """The name of who shares places: all service accounts of a namespace do, since a tenant can create any number."""
    found = _SERVICE_ACCOUNT.fullmatch(caller.name)
    return f"system:serviceaccounts:{found[1]}" if found else caller.name


def _impersonation(wanted: Impersonated) -> list[Access]:
    """The rights that impersonation requires. A service account is authorized by its namespace and name."""
    found = _SERVICE_ACCOUNT.fullmatch(wanted.user)
    user = (
        Access("impersonate", "", "serviceaccounts", namespace=found[1], name=found[2])
        if found
        else Access("impersonate", "", "users", name=wanted.user)
    )
    return [user, *(Access("impersonate", "", "groups", name=group) for group in wanted.groups)]
