from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from policies.dialects import yunikorn
from policies.dialects.core import CONFIG_MAP, NAMESPACE, Namespace
from policies.dialects.yunikorn_config.configmap import ConfiguredQueues, tree
from policies.dialects.yunikorn_config.model import ConfiguredQueue, Problem, amounts
from policies.dialects.yunikorn_config.quotas import queue_amount
from policies.judging.rule import Proposal, rule
from policies.model.findings import STRICT_ONLY, Cause, Finding, NotEvaluated
from policies.model.printing import listed
from policies.rules.yunikorn._namespace_shares import Declared, declared, guaranteed_below, had, largest, parent_of
from policies.rules.yunikorn._queue_config import finding, place_in, trees

_NAMED = 10  # the most namespaces that a message lists, the largest first


@rule(
    "namespaces-guaranteed-exceed-queue",
    source="YuniKorn: validation of queues.yaml, sums of guaranteed; not done for namespaces there",
    kinds=(NAMESPACE, CONFIG_MAP),
)
def namespaces_guaranteed_exceed_queue(proposal: Proposal) -> Iterator[Finding | NotEvaluated]:
    """The Namespaces below a queue of YuniKorn are guaranteed more together than the queue has.

    Why it is refused: guarantees that the queue does not have cannot all be kept. YuniKorn adds up guarantees in
    queues.yaml, but not those of queues that it creates for namespaces. This rule adds `namespace.guaranteed` of each
    namespace to the guarantees of the queues that are declared below the same queue. The sum must stay within the
    queue's guarantee, for the resources that it names, and within the smallest max on its path. Quotas may add up to
    more, like max in queues.yaml. The rule applies to changes of Namespaces and of the queues.
    Example: `root.eng` with `guaranteed: {vcore: 4}`; namespaces `dev` and `web` below it with `{"cpu":"3"}` each.
    Fix: lower the guarantee of one namespace to what is left, or raise that of the queue first.
    """
    namespace = proposal.configuration.yunikorn.namespace
    guaranteed = [each for _, each in proposal.changed(Namespace) if yunikorn.guaranteed(each)]
    written = [found for found in trees(proposal) if found.ref.namespace == namespace]
    text = tree(proposal.after, namespace).text if guaranteed or written else None
    known = declared(text) if text else None
    if text is None or known is None:
        if guaranteed:
            yield NotEvaluated(f"YuniKorn's queue configuration in namespace {namespace} is not known")
        return
    sums = _Sums(proposal, tree(proposal.after, namespace), known)
    for each in guaranteed:
        yield from sums.of_namespace(each)
    for found in written:
        for problem in sums.of_queues():
            yield finding(found, problem)
    if unknown := proposal.unknown(NAMESPACE):
        yield NotEvaluated(f"not all objects of {unknown[0]} are known, so the sums may be higher")


@dataclass(frozen=True, slots=True)
class _Excess:
    """A queue whose limit is less than the sum of guarantees below it.

    `kind`: the resource type.
    `key`: the key of the limit: guaranteed or max.
    `wanted`: the sum of guarantees.
    `limit`: the amount of the queue.
    """

    queue: ConfiguredQueue
    kind: str
    key: str
    wanted: int
    limit: int

    @property
    def surplus(self) -> str:
        return queue_amount(self.kind, self.wanted - self.limit)

    @property
    def place(self) -> tuple[str, int]:
        """The field of the text with the limit, and its line."""
        limits = self.queue.guaranteed if self.key == "guaranteed" else self.queue.maximum
        if limits and self.kind in limits:
            return limits[self.kind].written.field, limits[self.kind].written.line
        return self.queue.at("resources", self.key), self.queue.line


class _Sums:
    def __init__(self, proposal: Proposal, source: ConfiguredQueues, known: Declared):
        self._forest, self._before, self._known = proposal.after, proposal.before, known
        self._source, self._text = source, source.text or ""
        self._below = guaranteed_below(proposal.after, self._text)

    def of_namespace(self, namespace: Namespace) -> Iterator[Finding]:
        own = dict(yunikorn.guaranteed(namespace) or {})
        parent = parent_of(self._text, yunikorn.parent_queue(namespace) or "", namespace.ref.name)
        for queue in self._known.above(parent):
            for excess in self._excesses(queue):
                if own.get(excess.kind):
                    yield self._about(namespace, excess, own[excess.kind])
            own = {kind: amount for kind, amount in own.items() if kind not in amounts(queue.guaranteed)}

    def of_queues(self) -> Iterator[Problem]:
        """The problems that namespaces cause. Another rule checks the sums of only declared queues."""
        for path in sorted(self._below):
            for excess in self._excesses(self._known.queues[path]):
                if self._known.promised[path].get(excess.kind, 0) <= excess.limit:
                    yield self._problem(excess)

    def _excesses(self, queue: ConfiguredQueue) -> Iterator[_Excess]:
        path = queue.path.lower()
        for kind, amount in sorted(self._below.get(path, {}).items()):
            wanted = amount + self._known.promised[path].get(kind, 0)
            for key, limits in (("guaranteed", amounts(queue.guaranteed)), ("max", self._known.most[path])):
                if kind in limits and wanted > limits[kind]:
                    yield _Excess(queue, kind, key, wanted, limits[kind])

    def _about(self, namespace: Namespace, excess: _Excess, own: int) -> Finding:
        message, causes = self._summary(excess)
        room, kind, path = own - (excess.wanted - excess.limit), excess.kind, excess.queue.path
        texts = yunikorn.written_amounts(yunikorn.guaranteed_texts(namespace) or {})
        lower = f"lower the guarantee by {excess.surplus}" if room >= 0 else "lower the guarantees of namespaces"
        left = f"; {kind}={queue_amount(kind, room)} is what is left for {namespace.ref.name}" if room >= 0 else ""
        field = yunikorn.field(yunikorn.GUARANTEED)
        return Finding(
            namespace.ref,
            field,
            f"with {texts[kind][0]}={texts[kind][1]} here, {message}",
            fix=f"{lower}, or raise the {excess.key} of {path} to {queue_amount(kind, excess.wanted)} or more{left}",
            subject=f"{kind} {excess.key} of {path}",
            excess=excess.wanted - excess.limit,
            causes=tuple(cause for cause in causes if cause.object != namespace.ref),
            profiles=STRICT_ONLY,
            follows=(place_in(self._source, excess.place[0]),),
            concerns=((namespace.ref, field),),
        )

    def _problem(self, excess: _Excess) -> Problem:
        queue, message = excess.queue, self._summary(excess)[0]
        had_before = had(self._before, self._source.ref.namespace, queue, excess.key).get(excess.kind, 0)
        whose, wanted = f"{excess.key} of {queue.path}", queue_amount(excess.kind, excess.wanted)
        enough = f"keep {whose} at {wanted} or more" if had_before >= excess.wanted else f"raise {whose} to {wanted}"
        return Problem(
            *excess.place,
            message,
            f"{enough}, or lower the guarantees of its namespaces by {excess.surplus} first",
            f"{queue.path} {excess.key} {excess.kind} of namespaces",
            excess.wanted - excess.limit,
            accepted=True,
            concerns=(excess.place[0],),
        )

    def _summary(self, excess: _Excess) -> tuple[str, tuple[Cause, ...]]:
        kind, path = excess.kind, excess.queue.path
        count, first = largest(self._forest, self._text, excess.queue, kind, _NAMED)
        namespaces = listed([f"{ref.name} {queue_amount(kind, amount)}" for ref, amount in first], count)
        queues = self._known.promised[path.lower()].get(kind, 0)
        beside = f", its queues {queue_amount(kind, queues)}" if queues else ""
        holds = {"guaranteed": "is guaranteed only", "max": "has a max of"}[excess.key]
        field = yunikorn.field(yunikorn.GUARANTEED)
        causes = tuple(Cause(ref, field, f"{kind}={queue_amount(kind, amount)}") for ref, amount in first)
        wanted, limit = (queue_amount(kind, amount) for amount in (excess.wanted, excess.limit))
        whose = f"namespaces {namespaces}{beside}"
        return f"{kind}={wanted} is guaranteed below {path} ({whose}), but {path} {holds} {limit}", causes
