"""Serves /v1/findings: the findings of the last audit, for callers with the necessary rights in the cluster.

A finding of a cluster-scoped object is shown to users who may list the tree: ClusterQueues and Cohorts, Volcano's
Queues, or Namespaces. A finding of an object in a namespace is shown to users who may list objects of its kind: in all
namespaces, or with `?namespace=` in that one. A caller without a right gets nothing, not even the number of findings.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cluster.access import Reviews
from cluster.api.callers import Callers, Impersonated
from cluster.api.refusal import HttpRefusal
from cluster.errors import ClusterError
from cluster.reviews import Access, Caller
from cluster.served import FOLLOWED
from policies.audit.as_json import findings_json
from policies.audit.audited import Audit, AuditedFinding
from policies.configuration.settings import Dialect
from policies.dialects import core, kueue, volcano
from policies.dialects.core import CONFIG_MAP
from policies.model.objects import GroupKind

log = logging.getLogger(__name__)
PATH = "/v1/findings"
DEFAULT_LIMIT, MOST = 1000, 100_000
_FIELDS = ("root", "namespace", "offset", "limit")


def _list(kind: GroupKind, namespace: str = "") -> Access:
    resource = FOLLOWED[kind][0]
    return Access("list", resource.group, resource.plural, namespace=namespace)


TREES = {
    Dialect.KUEUE: (_list(kueue.CLUSTER_QUEUE), _list(kueue.COHORT)),
    Dialect.VOLCANO: (_list(volcano.QUEUE),),
    Dialect.YUNIKORN: (_list(core.NAMESPACE),),
}
"""The kinds that a caller must be allowed to list to see the findings about the trees of a dialect."""
_NAMESPACED = tuple(kind for kind, versions in FOLLOWED.items() if versions[0].namespaced)


class AuditApi:
    """Answers GET requests. Many threads may call it. `last`: returns the last audit; None before the first."""

    def __init__(self, last: Callable[[], Audit | None], reviews: Reviews) -> None:
        self._last = last
        self._callers = Callers(reviews)

    def answer(self, target: str, authorization: str | None, wanted: Impersonated | None = None) -> dict[str, Any]:
        """The response for `target`, a path with its query, with the rights of the caller. Raises HttpRefusal.

        `wanted`: the user that the caller impersonates; then that user's rights count.
        """
        try:
            parts = urlsplit(target)
        except ValueError as error:
            raise HttpRefusal(400, f"the path is not valid: {error}") from error
        if parts.path != PATH:
            raise HttpRefusal(404, f"{parts.path} does not exist; findings are at {PATH}")
        try:
            caller = self._callers.who(authorization, wanted)
            with self._callers.place(caller):
                return self._findings(caller, _query(parts.query))
        except ClusterError as error:
            log.warning("a caller could not be checked: %s", error)
            raise HttpRefusal(
                503, "your identity and permissions could not be checked with the API server; try again"
            ) from error

    def _findings(self, caller: Caller, query: dict[str, str]) -> dict[str, Any]:
        namespace, root = query.get("namespace", ""), query.get("root")
        offset, limit = _number(query, "offset", 0), _number(query, "limit", DEFAULT_LIMIT)
        seen = self._in_namespace(caller, namespace) if namespace else self._everywhere(caller)
        audit = self._last()
        if audit is None:
            raise HttpRefusal(503, "no audit has completed yet; try again")
        shown = audit.only(lambda each: seen(each) and (root is None or each.below(root)))
        return findings_json(shown, offset, min(limit, MOST))

    def _in_namespace(self, caller: Caller, namespace: str) -> Callable[[AuditedFinding], bool]:
        """Selects findings of the kinds that the caller may list in the namespace.

        Raises HttpRefusal if there are none.
        """
        asked = {kind: _list(kind, namespace) for kind in _NAMESPACED}
        kinds = {kind for kind, access in asked.items() if self._callers.may(caller, access)}
        if not kinds:
            raise HttpRefusal(403, f"{caller.name} may {_none(list(asked.values()))}")
        return lambda each: each.object.namespace == namespace and each.object.group_kind in kinds

    def _everywhere(self, caller: Caller) -> Callable[[AuditedFinding], bool]:
        """Selects findings of the trees and kinds that the caller may list.

        Raises HttpRefusal if there is no such tree.
        """
        trees = {dialect for dialect, wanted in TREES.items() if all(self._callers.may(caller, it) for it in wanted)}
        if not trees:
            every = [access for wanted in TREES.values() for access in wanted]
            raise HttpRefusal(403, f"{caller.name} may {_none(every)}; name a namespace with ?namespace=")
        kinds = {kind for kind in _NAMESPACED if self._callers.may(caller, _list(kind))}
        return lambda each: each.dialect in trees if _of_tree(each) else each.object.group_kind in kinds


def _of_tree(audited: AuditedFinding) -> bool:
    """Whether the finding is about a tree. YuniKorn's tree is in a ConfigMap, which has a namespace."""
    return not audited.object.namespace or audited.object.group_kind == CONFIG_MAP


def _none(wanted: Sequence[Access]) -> str:
    return "neither " + " nor ".join(map(str, wanted))


def _query(text: str) -> dict[str, str]:
    """The parameters of a query string. Raises HttpRefusal if one is unknown or repeated."""
    try:
        parts = parse_qs(text, keep_blank_values=True, strict_parsing=bool(text), max_num_fields=len(_FIELDS) * 2)
    except ValueError as error:
        raise HttpRefusal(400, f"the query string is not valid: {error}") from error
    for fault in _faults(parts):
        raise HttpRefusal(400, fault)
    return {key: value for key, (value,) in parts.items()}


def _faults(parts: dict[str, list[str]]) -> Iterator[str]:
    for key, values in parts.items():
        if key not in _FIELDS:
            yield f"parameter {key[:50]!r} is unknown; it must be one of {', '.join(_FIELDS)}"
        elif len(values) > 1:
            yield f"{key} is given twice"
        elif key == "namespace" and not values[0]:
            yield "namespace is empty; leave it out for all trees"


def _number(query: dict[str, str], key: str, default: int) -> int:
    text = query.get(key, str(default))
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise HttpRefusal(400, f"{key} must be a whole number of 0 or more")
    return int(text)
