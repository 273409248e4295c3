"""The first page, Now: the present problems, worst first, each with its next step, and the busiest trees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlencode

from markupsafe import Markup, escape

from dashboard.pages.clusters import worker_url
from dashboard.pages.formatting import (
    DIALECTS,
    UsageBar,
    amount,
    bar_of,
    findings_url,
    linked,
    node_text,
    node_url,
    path_part,
    what_if_url,
    workload_url,
)
from dashboard.pages.headline import cause_of, holder_of, waits_for
from dashboard.pages.installed import CertificateSources, CertificateState, Installed, installed
from dashboard.pages.parts import Part, Tile, part, pending_tile
from dashboard.pages.stopped import why_stopped
from dashboard.pages.times import lasted, past
from dashboard.pages.trees import read_tree
from dashboard.reading.backend import Manifest
from dashboard.reading.cache import CachedReader
from dashboard.trees.contention import MOST, Borrower, ContendedTree, RootLoad, UnusedQuota
from dashboard.trees.tree import FlavorPair, NodeKey, TreeNode
from scheduling.objects.inadmissible_reasons import SUSPENDED

_KINDS = ("stopped", "lost", "misconfigured", "error", "over", "pending", "borrowing", "unused")
"""The kinds of notices, worst first."""
ASKED = 8
"""The maximum number of queues with a notice about pending work, whose heads are read, and of queues over a limit."""
WRONG = ("stopped", "lost", "misconfigured", "error", "over")
"""The kinds of notices about problems that somebody has to fix."""
_ALIKE, _NAMED = 3, 3
"""This many queues that wait for the same quota share one notice; and how many of them the notice names."""
_FINDINGS = 200
_CYCLE = "parent-cycle"
"""The rule about the same fault as the notice of a cycle."""
_ROOTS = 3
"""The maximum number of trees with errors that have notices, and of further nodes on cycles that are named."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A problem, as a sentence that begins with its subject.

    `kind`: its label, and the CSS class of its color.
    `subject`: the beginning of the sentence, such as `ClusterQueue research`.
    `url`: the page of the subject; empty if it has none.
    `sentence`: the rest of the sentence. It is Markup if it has links.
    `step`, `step_url`: the text and the URL of the link to the next step.
    """

    kind: str
    subject: str
    url: str
    sentence: str
    step: str = ""
    step_url: str = ""


class QueueHead(NamedTuple):
    """A queue with pending work.

    `head`: its first pending workload. `why`: the explanation of the head. Both are empty if the user may not see them
    or they were not read.
    """

    queue: TreeNode
    head: Manifest
    why: Manifest

    @property
    def stopped(self) -> bool:
        return bool(self.queue.stopped) or self.head.get("reason") == SUSPENDED

    @property
    def since(self) -> str:
        return str(self.head.get("metadata", {}).get("creationTimestamp") or "")

    @property
    def name(self) -> str:
        """The head as `namespace/name`. Only call it if there is a head."""
        return f"{self.head['metadata']['namespace']}/{self.head['metadata']['name']}"

    @property
    def url(self) -> str:
        return workload_url(self.head["metadata"]["namespace"], self.head["metadata"]["name"])


@dataclass(frozen=True, slots=True)
class TreeLine:
    """One of the busiest trees, with its most used flavor and resource. `bar`: None if `share` is empty."""

    root: TreeNode
    url: str
    pending: int
    pair: str
    used: str
    share: str
    bar: UsageBar | None


def page(reader: CachedReader, sources: CertificateSources, *, audited: bool) -> dict[str, Any]:
    """The variables of the template, with everything that the user may see. Raises Unauthorized."""
    trees = {dialect: part(lambda dialect=dialect: read_tree(reader, dialect)) for dialect in DIALECTS}  # type: ignore[misc]
    seen = {dialect: each.value for dialect, each in trees.items() if each.value is not None}
    findings = part(lambda: reader.findings({"limit": str(_FINDINGS)})) if audited else Part()
    here = part(lambda: installed(reader, sources)).value or Installed()
    heads = {dialect: _heads(reader, dialect, tree) for dialect, tree in seen.items()}
    notices = [
        *(notice for tree in seen.values() for notice in _on_cycles(tree, audited=findings.value is not None)),
        *_unread(trees, findings, reader.problems),
        *_lost_workers(reader),
        *_failing_parts(here),
        *_errors(findings.value or {}, {key for tree in seen.values() for key in tree.on_cycles}),
        *(notice for dialect, tree in seen.items() for notice in _over(dialect, tree, heads[dialect])),
        *(notice for dialect, tree in seen.items() for notice in _waiting(dialect, tree, heads[dialect])),
        *(notice for dialect, tree in seen.items() for notice in _all_unused(dialect, tree)),
        *(notice for dialect, tree in seen.items() for notice in _borrowing(dialect, tree)),
    ]
    notices.sort(key=lambda notice: _KINDS.index(notice.kind))
    return {
        "notices": notices,
        "totals": _totals(seen, sum(notice.kind in WRONG for notice in notices)),
        "busiest": [_line(each) for tree in seen.values() for each in tree.busiest],
        "installed": here,
        "denied": not seen and all(each.denied or each.absent for each in trees.values()),
        "nodes": sum(len(tree.nodes) for tree in seen.values()),
    }


def beside_rules(reader: CachedReader, sources: CertificateSources) -> list[Notice]:
    """The problems that no rule finds: those of worker clusters and of Quotree itself. Raises Unauthorized."""
    here = part(lambda: installed(reader, sources)).value or Installed()
    return sorted([*_lost_workers(reader), *_failing_parts(here)], key=lambda notice: _KINDS.index(notice.kind))


def _totals(seen: dict[str, ContendedTree], wrong: int) -> list[Tile]:
    """The sums over all trees. Only queues that take work are counted."""
    found = {dialect: tree.totals for dialect, tree in seen.items() if tree.totals.queues}
    if not found:
        return []
    tree = f"/trees/{next(iter(found)).lower()}"
    queues, pending, admitted = (sum(numbers) for numbers in zip(*found.values(), strict=True))
    return [
        Tile(wrong, "to fix", "#notices", "bad" if wrong else ""),
        pending_tile(pending, "/workloads/?state=pending"),
        Tile(admitted, "admitted", "/workloads/?state=admitted"),
        Tile(queues, "queues" if queues > 1 else "queue", f"{tree}#table"),
    ]


def _unread(trees: Mapping[str, Part[Any]], findings: Part[Any], above: Sequence[str]) -> Iterator[Notice]:
    """A notice for each cause why trees or findings could not be read. `above`: causes at the top of the page."""
    causes: dict[str, list[str]] = {}
    for dialect, each in [*trees.items(), ("", findings)]:
        if each.error is not None and not (each.absent or each.denied):
            causes.setdefault(each.why, []).append(dialect)
    for why, dialects in causes.items():
        of = ", ".join(filter(None, dialects))
        subject = " and ".join([*([f"Trees of {of}"] if of else []), *(["findings"] if "" in dialects else [])])
        said = "cannot be read now" + (", see above." if why in above else f": {why}.")
        yield Notice("lost", f"{subject[0].upper()}{subject[1:]}", "", said)


def _on_cycles(tree: ContendedTree, *, audited: bool) -> Iterator[Notice]:
    nodes = [tree.nodes[key] for key in sorted(tree.on_cycles)]
    if nodes:
        first, *others = nodes
        named = ", ".join(f"{each.key.kind} {each.name}" for each in others[:_ROOTS])
        more = f" and {len(others) - _ROOTS} more" if len(others) > _ROOTS else ""
        alike = f", and so {'are' if len(others) > 1 else 'is'} {named}{more}" if others else ""
        below = "below them" if others else "below it"
        said = f"is on a cycle{alike}: nothing {below} is admitted. Give one of them another parent."
        step, url = ("All findings of this tree", findings_url(first.name)) if audited else ("", "")
        yield _notice("stopped", first, said, step or "Its parents", url or node_url(first))


def _lost_workers(reader: CachedReader) -> Iterator[Notice]:
    workers = part(lambda: list(reader.ask("/v1/clusters")["items"])).value
    for each in workers or ():
        word, ends = str(each.get("connection")), str(each.get("credentialsEnd") or "")
        expired = f"credentials expired {lasted(ends)} ago" if past(ends) else ""
        url = worker_url(str(each["name"]))
        if word in ("lost", "misconfigured"):
            long = lasted(str(each.get("since") or ""))
            state = f"has been {word} for {long}" if long else f"is {word}"
            why = f": {each['error']}" if each.get("error") else ""
            sentence = f"{state}{why}. It gets no new work.{f' Its {expired}.' if expired else ''}"
            step = "How to make its Secret" if each.get("missingSecret") else "Its connection"
            yield Notice(word, f"Worker {each['name']}", url, sentence, step, url)
        elif expired:
            said = f"has a kubeconfig whose {expired}. Replace it."
            yield Notice("error", f"Worker {each['name']}", url, said, "Its connection", url)


def _failing_parts(here: Installed) -> Iterator[Notice]:
    """Notices about Deployments without ready replicas, certificates that expire soon, and different versions."""
    ours = [each for each in here.components if each.ours]
    for part_of in ours:
        if part_of.wanted and not part_of.ready:
            down = f"has no ready replica of {part_of.wanted}."
            named = f"Deployment {part_of.namespace}/{part_of.name}"
            yield Notice("lost", named, "#installed", down, "Versions", "#installed")
    for each in here.certificates:
        if each.state in (CertificateState.EXPIRED, CertificateState.LATE):
            then = f"expired at {each.until}:" if each.state == CertificateState.EXPIRED else ""
            said = f"{then or f'expires at {each.until} and was not renewed; then'} {each.said}."
            yield Notice("error", each.subject, "#installed", said, "Certificates", "#installed")
    versions = sorted({each.version for each in ours if each.version})
    if len(versions) > 1:
        said = f"runs in versions {' and '.join(versions)}. Finish the upgrade."
        yield Notice("error", "Quotree", "#installed", said, "Versions", "#installed")


def _errors(found: dict[str, Any], on_cycles: set[NodeKey]) -> Iterator[Notice]:
    """Notices about trees with errors in the audit.

    A tree whose only error is a cycle has another notice already.
    """
    roots = []
    for each in found.get("roots") or []:
        reported = {_CYCLE} if NodeKey(each["root"]["kind"], each["root"]["name"]) in on_cycles else set()
        mine = [item for item in found.get("items") or [] if _of_root(item, each)]
        if each["errors"] > sum(item.get("rule") in reported for item in mine):
            roots.append((each, [item for item in mine if item.get("rule") not in reported]))
    for each, items in roots[:_ROOTS]:
        count, name = each["errors"], each["root"]["name"]
        url = findings_url(name)
        sentence = " ".join([f"has {count} error{'s' * (count > 1)}.", *map(_finding_text, items[:1])])
        yield Notice("error", f"Tree {name}", url, sentence, "All findings of this tree", url)


def _finding_text(item: Manifest) -> str:
    """The message of a finding, with its object, which may be any object of the tree."""
    name = "/".join(filter(None, (item["object"].get("namespace"), item["object"]["name"])))
    return f"{item['object']['kind']} {name}: {item['message']}"


def _of_root(item: Manifest, found: Manifest) -> bool:
    """Whether the finding is an error of this tree. Trees of two projects may have the same name."""
    alike = all(item.get(name) == found.get(name) for name in ("root", "dialect"))
    return alike and str(item["severity"]) == "error"


def _over(dialect: str, tree: ContendedTree, heads: Sequence[QueueHead]) -> Iterator[Notice]:
    remedies = {each.queue.key: each.why.get("remedy") or {} for each in heads}
    for each in tree.over[:ASKED]:
        node, pair, found = each.node, each.pair, each.amounts
        may, more = amount(pair, found.used - found.over), amount(pair, found.over)
        said = f"uses {amount(pair, found.used)} {pair}, {more} more than the {may} that it may use. It admits no more."
        remedy = remedies.get(node.key, {})  # raising the limit to the usage alone would not admit new work
        tried = str(remedy["more"]) if (remedy.get("flavor"), remedy.get("resource")) == pair else more
        url = what_if_url(node, pair, f"+{tried}")
        yield _notice("over", node, said, f"What if it had {tried} more?" if url else "", url)
    if others := tree.over[ASKED:]:
        number = "1 more limit" if len(others) == 1 else f"{len(others)} more limits"
        url = _share_url(dialect)
        yield Notice("over", number, url, f"of {dialect} exceeded.", "All by share", url)


def _heads(reader: CachedReader, dialect: str, tree: ContendedTree) -> list[QueueHead]:
    """The queues with pending work and their heads: first stopped queues, then those with the longest wait.

    An older reconciler does not report how long work waits. Then the queues with the most pending work are read.
    """
    longest = sorted(tree.waiting, key=lambda queue: (not queue.stopped, queue.oldest or "~", -queue.waiting))
    heads = [_head(reader, queue) if dialect == "Kueue" else QueueHead(queue, {}, {}) for queue in longest[:ASKED]]
    return sorted(heads, key=lambda each: (not each.stopped, each.queue.oldest or each.since or "~"))


def _waiting(dialect: str, tree: ContendedTree, heads: Sequence[QueueHead]) -> Iterator[Notice]:
    """Notices about pending work: one for each queue, or one for several queues that wait for the same quota."""
    alike: dict[object, list[QueueHead]] = {}
    for each in heads:
        alike.setdefault(waits_for(each.why) or each.queue.key, []).append(each)
    for found in alike.values():
        yield from [_common_notice(tree, found)] if len(found) >= _ALIKE else map(_of_queue, found)
    if others := len(tree.waiting) - len(heads):
        url = f"/trees/{dialect.lower()}?sort=pending#table"
        number = "1 more queue" if others == 1 else f"{others} more queues"
        pending = tree.totals.pending - sum(each.queue.waiting for each in heads)
        yield Notice("pending", number, url, f"of {dialect} with {pending} pending.", "All by pending work", url)


def _common_notice(tree: ContendedTree, heads: Sequence[QueueHead]) -> Notice:
    """The notice about queues whose heads wait for the same quota. `heads`: the longest wait first."""
    first = heads[0]
    short = waits_for(first.why)
    assert short is not None
    pair, at = FlavorPair(short.flavor, short.resource), NodeKey(short.kind, short.name)
    names = ", ".join(each.queue.name for each in heads[:_NAMED])
    more = f" and {len(heads) - _NAMED} more" if len(heads) > _NAMED else ""
    pending = sum(each.queue.waiting for each in heads)
    since = min(filter(None, (each.queue.oldest or each.since for each in heads)), default="")
    long = f", the oldest for {lasted(since)}" if lasted(since) else ""
    holder = f" {held}." if (held := holder_of(first.why)) else ""
    said = f"wait for {pair} at {short.name}: {names}{more}. They have {pending} pending{long}.{holder}"
    query = urlencode({**({"node": node_text(at)} if at in tree.nodes else {}), "pair": str(pair), "sort": "pending"})
    url = f"/trees/{first.queue.dialect.lower()}?{query}#table"
    return Notice("pending", f"{len(heads)} queues", url, said, f"Why {first.name} waits", first.url)


def _of_queue(found: QueueHead) -> Notice:
    queue, since = found.queue, found.since
    halted = why_stopped(queue)
    waits = f"{halted} It has {queue.waiting} pending" if halted else f"has {queue.waiting} pending"
    if (oldest := lasted(queue.oldest)) and queue.oldest != since:
        waits += f", the oldest for {oldest}"
    waits += "."
    step, url = "What is pending there", node_url(queue)
    if found.head:
        long = lasted(since)
        waits += f" {found.name} is first" + (f" and has waited {long}" if long else "")
        cause = cause_of(found.why)
        waits += "." if halted else f": {f'{cause}.' if cause else found.head['message']}"
        step, url = f"Why {found.name} waits", found.url
    return _notice("stopped" if found.stopped else "pending", queue, waits, step, url)


def _head(reader: CachedReader, queue: TreeNode) -> QueueHead:
    path = f"/v1/clusterqueues/{path_part(queue.name)}/pendingworkloads"
    items = part(lambda: list(reader.ask(path, {"limit": "1"})["items"])).value
    found = QueueHead(queue, dict(items[0]) if items else {}, {})
    if not items or found.stopped:
        return found
    why = part(lambda: reader.ask(f"/v1{found.url}/explanation")).value
    return found._replace(why=why or {"cause": found.head.get("cause")})


def _all_unused(dialect: str, tree: ContendedTree) -> Iterator[Notice]:
    yield from map(_unused, tree.unused[:MOST])
    if others := tree.unused[MOST:]:
        said = f"of {dialect} with unused quota that others wait for."
        yield _more_queues("unused", len(others), said, _share_url(dialect))


def _borrowing(dialect: str, tree: ContendedTree) -> Iterator[Notice]:
    yield from map(_borrower, tree.borrowers)
    if others := {node.key for node, *_ in tree.borrowing} - {each.node.key for each in tree.borrowers}:
        yield _more_queues("borrowing", len(others), f"of {dialect} borrowing.", _share_url(dialect))


def _more_queues(kind: str, queues: int, said: str, url: str) -> Notice:
    return Notice(kind, "1 more queue" if queues == 1 else f"{queues} more queues", url, said, "All by share", url)


def _share_url(dialect: str) -> str:
    return f"/trees/{dialect.lower()}?sort=share#table"


def _unused(found: UnusedQuota) -> Notice:
    node, pair = found.node, found.pair
    quota = amount(pair, found.amounts.quota)
    few = "1 workload waits" if found.pending == 1 else f"{found.pending} workloads wait"
    kept = found.amounts.own.get("lendingLimit")
    lends = f"It lends at most {kept}." if kept is not None else "It may lend all of it."
    sentence = f"uses none of its {quota} {pair} while {few} at queues of its tree. {lends}"
    url = what_if_url(node, pair, f"-{quota}")
    return _notice("unused", node, sentence, f"What if it had {quota} less?" if url else "", url)


def _borrower(found: Borrower) -> Notice:
    node, pair, amounts = found.node, found.pair, found.amounts
    said = f"borrows {amount(pair, amounts.borrowed)} {pair} beyond its quota of {amount(pair, amounts.quota)}"
    sentence = escape(said)
    if found.lenders:
        unused = [
            Markup("{} {}").format(linked(each), amount(pair, each.amounts(pair).spare)) for each in found.lenders
        ]
        if found.other_lenders:
            unused.append(Markup("and {} more siblings").format(found.other_lenders))
        sentence += Markup(". Unused at its siblings: {}").format(Markup(", ").join(unused))
    return _notice("borrowing", node, sentence + ".", "Its siblings", f"{node_url(node)}#neighbours-title")


def _notice(kind: str, node: TreeNode, sentence: str, step: str, step_url: str) -> Notice:
    return Notice(kind, f"{node.key.kind} {node.name}", node_url(node), sentence, step, step_url)


def _line(found: RootLoad) -> TreeLine:
    root, pair, amounts = found.root, found.pair, found.amounts
    query = urlencode({"node": node_text(root.key), **({"pair": str(pair)} if pair else {})})
    used = share = ""
    if pair is not None and amounts is not None:
        used = amount(pair, amounts.used)
        if amounts.quota:
            used, share = f"{used} of {amount(pair, amounts.quota)}", f"{amounts.share:.0%}"
    bar = bar_of(amounts) if share and amounts else None
    return TreeLine(root, f"/trees/{root.dialect.lower()}?{query}", found.pending, str(pair or ""), used, share, bar)
