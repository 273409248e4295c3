"""The page What if: the form for a change, and the effects of the change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from analysis.what_if.outcome import WhatIfOutcome
from analysis.what_if.state import ProposedChange
from cluster.errors import Forbidden, NotFound
from dashboard.pages.parts import part
from dashboard.pages.trees import read_tree
from dashboard.reading.backend import Manifest, UserLogin
from dashboard.reading.cache import CachedReader
from dashboard.trees.tree import FlavorPair, NodeKey, natural
from dashboard.what_if.commands import commands
from dashboard.what_if.edits import FIELDS, STOPPED, STOPS, BadEdit, EditedNode
from dashboard.what_if.form import REMOVE, Form
from dashboard.what_if.links import LASTS, ChangeLinks
from dashboard.what_if.manifests import KINDS, as_yaml, changed
from dashboard.what_if.processes import MissingRights, Processes, ReadingCluster, TryAgain, Unanswered
from policies.dialects.kueue_kinds import GROUP
from policies.model.printing import plain

_DIALECTS = {"Queue": "Volcano", "Namespace": "YuniKorn"}
"""The dialects of the kinds that do not belong to Kueue."""
_ALL_IN_TREES = ("ClusterQueue", "Queue")
"""Kinds whose objects are always in a tree, unlike new Cohorts and Namespaces without quota."""
_MOST_NAMES = 500
"""The maximum number of names that the form suggests. Browsers are slow with more."""


@dataclass(frozen=True, slots=True)
class Asker:
    """The user, and the means to answer.

    `reader`, `login`: read with the rights of the user.
    `what_if`: the processes that compute effects; None for files.
    `links`: creates and opens links that contain a change.
    """

    reader: CachedReader
    login: UserLogin
    what_if: Processes | None
    links: ChangeLinks


def page(asker: Asker, form: Form, *, ask: bool) -> tuple[dict[str, Any], int]:
    """The variables of the template, and the HTTP status. `ask`: whether to compute effects. Raises ClusterError."""
    made: tuple[Manifest, ...] = ()
    stored: dict[str, Manifest | None] = {}
    found, problem, status = None, None, 400 if form.problems else 200
    try:
        made = _edited(asker, form, stored)
        if ask and not form.problems:
            found = _effects(asker, form, made)
    except (BadEdit, Unanswered) as error:
        problem, status = error, _status(error)
    if found is None and problem is None and (lacking := _missing_rights(asker)):
        problem = MissingRights(lacking)  # shown before the user fills in the form
    written = _as_yaml(made, form)
    missing = problem.missing if isinstance(problem, MissingRights) else ()
    return {
        "form": form,
        "fields": FIELDS,
        "alike": _kinds_like,
        "stopped": STOPPED,
        "now": _present_values(asker.reader, form),
        "remove": REMOVE,
        "stops": STOPS,
        "yaml": printed_lines(written),
        "commands": printed_lines(commands(stored, made)),
        "suggested": _suggested(asker.reader),
        "pasted": escape(form.pasted),  # Markup, so that `_printable` does not escape its line breaks
        "outcome": found,
        "link": _link(asker, form) if made and asker.what_if else "",
        "link_days": LASTS // 86400,
        "problem": problem,
        "missing": missing,
        "of_kueue": any(GROUP in each for each in missing),
        "again": isinstance(problem, TryAgain),
        "refresh": 0,
        **({"stamp": found.as_of} if found else {}),
    }, status


def _kinds_like(kind: str) -> list[str]:
    """The kinds whose quota has the same fields as this kind; all kinds if this kind has no quota fields."""
    return [each for each, fields in FIELDS.items() if fields == FIELDS.get(kind, fields)]


def pairs_of(reader: CachedReader, kind: str, name: str) -> Sequence[FlavorPair] | None:
    """The flavors and resources of a node; see `PairsOf`."""
    key = NodeKey(kind, name)
    known = kind in FIELDS and name
    tree = part(lambda: read_tree(reader, _DIALECTS.get(kind, "Kueue"), key)).value if known else None
    if tree is None or key in tree.nodes:
        return tree.nodes[key].pairs if tree else ()
    return None if kind in _ALL_IN_TREES else ()


def download(asker: Asker, form: Form) -> str:
    """The whole change as YAML. Raises BadEdit, MissingRights or ClusterError."""
    return _as_yaml(_edited(asker, form), form)


def _edited(asker: Asker, form: Form, read: dict[str, Manifest | None] | None = None) -> tuple[Manifest, ...]:
    """The objects after the edits. Adds the stored objects to `read`. Raises the errors of `download`."""
    known: dict[str, Manifest | None] = {} if read is None else read

    def stored(node: EditedNode) -> Manifest | None:
        known[f"{node.kind}/{node.name}"] = found = _stored(asker, node)
        return found

    return tuple(changed(form.edits, stored))


def _missing_rights(asker: Asker) -> Sequence[str]:
    """The missing rights that the computation needs; empty if the cluster does not answer."""
    processes = asker.what_if
    if processes is None:
        return ()
    return part(lambda: asker.reader.aside(("what-if",), lambda: processes.missing(asker.login))).value or ()


def _link(asker: Asker, form: Form) -> str:
    """The URL that opens this change; empty if it has a pasted text or too many edits."""
    sealed = "" if form.pasted.strip() else asker.links.seal([kept for kept, _ in form.lines])
    return f"/what-if?change={sealed}" if sealed else ""


def _suggested(reader: CachedReader) -> dict[str, list[str]]:
    """Names, flavors and resources that the form suggests; empty if the user may not see Kueue's trees."""
    tree = part(lambda: read_tree(reader, "Kueue")).value
    if tree is None:
        return {}
    return {
        "names": sorted({key.name for key in tree.nodes}, key=natural)[:_MOST_NAMES],
        "flavors": sorted({pair.flavor for pair in tree.pairs}),
        "resources": sorted({pair.resource for pair in tree.pairs}),
    }


def _present_values(reader: CachedReader, form: Form) -> str:
    """The present values of the quota that the form names; empty if the user may not see it."""
    typed = (form.typed.get(f"quota-{each}", "") for each in ("kind", "name", "flavor", "resource"))
    kind, name, flavor, resource = typed
    if not name or kind not in FIELDS:
        return ""
    tree = part(lambda: read_tree(reader, _DIALECTS.get(kind, "Kueue"))).value
    node = tree.nodes.get(NodeKey(kind, name)) if tree else None
    own = node.amounts(FlavorPair(flavor, resource)).own if node else {}
    return ", ".join(f"{field} {own[field]}" for field in FIELDS[kind] if field in own)


def _effects(asker: Asker, form: Form, made: tuple[Manifest, ...]) -> WhatIfOutcome:
    if asker.what_if is None:
        raise Unanswered("A change of files has no form: edit the files, and run `quotree diff` to see the effect.")
    if not made and not form.pasted.strip():
        raise BadEdit("The form has no change yet. Fill in one of its parts.")
    return asker.what_if.ask(asker.login, ProposedChange(made, form.pasted))


def _stored(asker: Asker, node: EditedNode) -> Manifest | None:
    resource = KINDS[node.kind]
    try:
        return asker.reader.reader.stored(resource, None, node.name)
    except NotFound:
        return None
    except Forbidden as error:
        named = f"{resource.plural}.{resource.group}".rstrip(".")
        more = asker.what_if.missing(asker.login) if asker.what_if else ()
        raise MissingRights((f"get {named}", *more)) from error
    except ValueError as error:  # a name that no path can have
        raise BadEdit(str(error)) from error


def _status(error: Exception) -> int:
    match error:
        case MissingRights():
            return 403
        case ReadingCluster():
            return 202
        case Unanswered():
            return 503
    return 400


def _as_yaml(made: tuple[Manifest, ...], form: Form) -> str:
    """The edited objects and the pasted text as one YAML file. A pasted JSON text is valid YAML."""
    texts = (as_yaml(made) if made else "", form.pasted)
    return "---\n".join(each.rstrip("\n") + "\n" for each in texts if each.strip())


def printed_lines(text: str) -> Markup:
    """The text with its line breaks, and with other unprintable characters escaped."""
    return escape("\n".join(plain(line) for line in text.split("\n")))
