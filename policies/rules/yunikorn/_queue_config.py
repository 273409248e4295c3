"""YuniKorn's queues and placement rules, and the findings about the ConfigMap that has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import chain

from policies.dialects import yunikorn
from policies.dialects.core import Namespace, Pod
from policies.dialects.yunikorn_config.configmap import ConfiguredQueues, QueueConfigMap, tree
from policies.dialects.yunikorn_config.model import Config, ConfiguredQueue, Filter, Partition, PlacementRule, Problem
from policies.dialects.yunikorn_config.reading import read_config
from policies.judging.rule import Proposal
from policies.model.findings import BOTH, STRICT_ONLY, Finding, NotEvaluated, ObjectField, apart, rename, write
from policies.model.suggestion import KnownNames

_CORRECT = "correct the YAML in that line"


def trees(proposal: Proposal) -> Iterator[ConfiguredQueues]:
    """The tree after the change, for each namespace in which one of the two ConfigMaps was written."""
    namespaces = {config_map.ref.namespace for _, config_map in proposal.changed(QueueConfigMap)}
    namespaces |= {config_map.ref.namespace for config_map in proposal.deleted(QueueConfigMap)}
    for namespace in sorted(namespaces):
        yield tree(proposal.after, namespace)


def findings(proposal: Proposal, check: Callable[[Config], Iterable[Problem]]) -> Iterator[Finding]:
    """The findings of the check in each written tree. Problems that YuniKorn itself accepts count only in `strict`."""
    for written in trees(proposal):
        if written.setting is not None and written.text is not None:
            for problem in check(written.config):
                yield finding(written, problem)


def queue_findings(proposal: Proposal, check: Callable[[ConfiguredQueue], Iterable[Problem]]) -> Iterator[Finding]:
    """The findings of a check that gets each root queue."""
    return findings(proposal, lambda config: chain.from_iterable(map(check, config.roots)))


def finding(written: ConfiguredQueues, problem: Problem) -> Finding:
    ref, field = place_in(written, problem.field)
    message, fix = (problem.message, problem.fix) if problem.fix else apart(problem.message, _CORRECT)
    patch = rename(field, problem.rename) or write(field, problem.write)
    patch = patch if field.startswith("data[") else ()  # a compressed text cannot be patched
    return Finding(
        ref,
        field,
        f"{written.key}, line {problem.line}: {message}" if problem.line else message,
        fix=fix,
        subject=problem.subject,
        excess=problem.excess,
        text_patch=patch,
        profiles=STRICT_ONLY if problem.accepted else BOTH,
        follows=tuple(place_in(written, field) for field in problem.follows),
        concerns=tuple(place_in(written, field) for field in problem.concerns),
    )


def place_in(written: ConfiguredQueues, field: str) -> ObjectField:
    """The ConfigMap, and the path of a field of the text in it."""
    assert written.setting is not None
    step = "" if not field or field.startswith("[") else "."
    return written.ref, f"{written.setting.field}{step}{field}"


def about_setting(config_map: QueueConfigMap, problem: Problem) -> Finding:
    """The finding for a problem with a key other than that of the tree."""
    return Finding(
        config_map.ref, problem.field, problem.message, fix=problem.fix, subject=problem.subject, profiles=STRICT_ONLY
    )


def partition(proposal: Proposal) -> Partition | NotEvaluated:
    """The partition after the change, or NotEvaluated if it is not known."""
    namespace = proposal.configuration.yunikorn.namespace
    text = tree(proposal.after, namespace).text
    found = config(text).partition if text else None
    if found is None or found.root is None:
        return NotEvaluated(f"YuniKorn's queue configuration in namespace {namespace} is not known")
    return found


def leaves(proposal: Proposal) -> KnownNames:
    """The paths of the declared leaves after the change."""
    return _leaves(tree(proposal.after, proposal.configuration.yunikorn.namespace).text or "")


@lru_cache(maxsize=2)  # those of the tree before a change and after it
def _leaves(text: str) -> KnownNames:
    found = config(text).partition
    return KnownNames(queue.path for queue in (found.queues.values() if found else ()) if queue.is_leaf)


@lru_cache(maxsize=8)
def config(text: str) -> Config:
    """The configuration of a text. It is cached, since it may have thousands of queues, and each Pod needs it."""
    return read_config(text)


def submitter(proposal: Proposal, pod: Pod) -> tuple[str, tuple[str, ...]]:
    """The user that the annotation names, or else the requesting user, as YuniKorn's admission controller writes it."""
    if pod.annotations.get(yunikorn.USER_INFO):
        name, groups = yunikorn.user_of(pod)
        return name, tuple(groups or ())
    return proposal.circumstances.user.name, proposal.circumstances.user.groups


def tags(namespace: Namespace) -> dict[str, str]:
    return {"namespace": namespace.ref.name, **yunikorn.application_tags(namespace)}


def unfiltered(rule: PlacementRule) -> PlacementRule:
    """The rule and its parents without filters."""
    return replace(rule, filter=Filter(), parent=unfiltered(rule.parent) if rule.parent else None)
