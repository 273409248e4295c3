"""YuniKorn's queues and placement rules, for the rules about Namespaces and Pods."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from policies.dialects import yunikorn
from policies.dialects.core import Namespace, Pod
from policies.dialects.yunikorn_config.configmap import tree
from policies.dialects.yunikorn_config.model import Config, Filter, Partition, PlacementRule
from policies.dialects.yunikorn_config.reading import read_config
from policies.judging.rule import Proposal
from policies.model.findings import NotEvaluated
from policies.model.suggestion import KnownNames


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
