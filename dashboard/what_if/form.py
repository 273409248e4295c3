"""The what-if form: the edits that it keeps, and the input that becomes the next edit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from werkzeug.datastructures import MultiDict

from dashboard.trees.tree import FlavorPair
from dashboard.what_if import edits
from dashboard.what_if.edits import FIELDS, BadEdit, Edit

PairsOf = Callable[[str, str], Sequence[FlavorPair] | None]
"""Returns the flavors and resources in the quota of the node with this kind and name.

The result is empty if the user may not see them, and None if the node does not exist.
"""
REMOVE = "none"
"""The input that removes an amount or a parent."""
_PARTS: Mapping[str, Callable[[Mapping[str, str]], Edit]] = {
    "quota": edits.parse_quota,
    "move": edits.parse_move,
    "stop": edits.parse_stop,
    "work": edits.parse_work,
}
_FILLED_BY: Mapping[str, tuple[str, ...]] = {
    "quota": ("amount",),
    "move": ("parent",),
    "stop": ("policy",),
    "work": ("requests", "queue"),
}
"""A part of the form counts as filled in if one of these fields is. The other fields may be filled in by a link."""
_KEPT_FIELDS: Mapping[str, tuple[str, ...]] = {
    "quota": ("kind", "name", "flavor", "resource", "field"),
    "move": (),
    "stop": (),
    "work": ("namespace", "queue"),
}
"""The fields whose input is kept for the next edit."""
_REMOVED = ("amount", "parent")
_ANY = FlavorPair("any", "any")
_NODE = ("kind", "name")
_ABOUT_SAME_NODE = ("move", "stop")
"""The parts that are about the node of the part `quota`, unless they name another."""


@dataclass(slots=True)
class Form:
    """The state of the form.

    `edits`: the edits so far.
    `pasted`: the pasted YAML.
    `typed`: the content of the fields.
    `problems`: sentences about invalid input.
    """

    edits: list[Edit] = field(default_factory=list)
    pasted: str = ""
    typed: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def lines(self) -> list[tuple[str, str]]:
        """For each edit, the line that the form keeps and the text that it shows."""
        return [(edits.encoded(each), str(each)) for each in self.edits]


def linked(query: Mapping[str, str]) -> Form:
    """The form, filled in by a link on the page of a node or a Workload."""
    known = {name: query[name][:400] for name in (*_KEPT_FIELDS["quota"], "amount") if query.get(name)}
    if fields := FIELDS.get(known.get("kind", "")):
        known.setdefault("field", fields[0])
    return Form(typed={f"quota-{name}": value for name, value in known.items()})


def sent(posted: MultiDict[str, str], pairs_of: PairsOf = lambda *_: ()) -> Form:
    """The form after it was sent: each part that is filled in becomes an edit."""
    form = Form(pasted=posted.get("yaml", "").replace("\r\n", "\n"))
    for line in posted.getlist("edit"):
        _add_edit(form, lambda line=line: edits.parse(line))  # type: ignore[misc]
    for part, read in _PARTS.items():
        fields = {name.partition("-")[2]: value for name, value in posted.items() if name.startswith(f"{part}-")}
        if part in _ABOUT_SAME_NODE:
            fields = {name: posted[f"quota-{name}"] for name in _NODE if f"quota-{name}" in posted} | fields
        taken = any(fields.get(name, "").strip() for name in _FILLED_BY[part])
        if taken:
            removed = {name: "" for name in _REMOVED if fields.get(name, "").strip() == REMOVE}
            pairs = pairs_of(fields.get("kind", ""), fields.get("name", "").strip()) if part != "work" else ()
            if pairs is None:  # a pair of an unknown node cannot be checked, but other fields may be wrong, too
                _add_problem(form, f"{fields['kind']} {fields['name'].strip()} does not exist.")
            meant = _with_pair(fields | removed, [_ANY] if pairs is None else pairs)
            taken = _add_edit(form, lambda read=read, meant=meant: read(meant), keep=pairs is not None)  # type: ignore[misc]
        kept = _KEPT_FIELDS[part] if taken else tuple(fields)
        form.typed |= {f"{part}-{name}": fields[name] for name in kept if name in fields}
    return form


def _with_pair(typed: Mapping[str, str], pairs: Sequence[FlavorPair]) -> dict[str, str]:
    """The input with a flavor and resource: from the chosen `pair`, or the only one in `pairs` if both are empty."""
    if typed.get("pair"):
        chosen = [FlavorPair.parse(typed["pair"])]
    elif not typed.get("flavor", "").strip() and not typed.get("resource", "").strip():
        chosen = list(pairs)
    else:
        chosen = []
    return {**typed, **(chosen[0]._asdict() if len(chosen) == 1 else {})}


def _add_edit(form: Form, read: Callable[[], Edit], *, keep: bool = True) -> bool:
    """Add an edit to the form, and return whether it was added. Without `keep`, only its problems are added."""
    try:
        edit = read()
        if len(form.edits) >= edits.MOST:
            raise BadEdit(f"A change has no more than {edits.MOST} edits; write the rest as YAML.")
    except BadEdit as error:
        _add_problem(form, str(error))
        return False
    if keep:
        form.edits.append(edit)
    return keep


def _add_problem(form: Form, problem: str) -> None:
    """Add a problem, unless it is there already from another part about the same node."""
    if problem not in form.problems:
        form.problems.append(problem)
