"""Answers one review without a server, by the same steps as `webhook.review_handler`, on a forest that does not change.

It has no ledger, and does not wait for a watch to show later changes, since only a running replica can do that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from policies.configuration.settings import Configuration
from policies.judging.verdict import Verdict
from policies.model.forest import Forest
from policies.mutation.defaults import patch
from webhook import answer, decision
from webhook.bounds import foreign_settings
from webhook.owners import Fetch, OwnerMissing, named_workload, owners
from webhook.review import Review
from webhook.review_handler import MUTATING, VALIDATING


@dataclass(frozen=True, slots=True)
class Replay:
    """An answer.

    `body`: the AdmissionReview for the API server.
    `verdict`: of a validating request.
    `operations`: the JSON patch of a mutating request.
    """

    body: bytes
    verdict: Verdict = field(default_factory=Verdict)
    operations: tuple[Mapping[str, Any], ...] = ()


def served(review: Review, configuration: Configuration, *, mutating: bool) -> bool:
    """Whether a path of the webhook serves the API group of the object."""
    described = frozenset(kind.group for kind in configuration.reconciler.jobs)
    groups = frozenset[str]().union(*(MUTATING if mutating else VALIDATING).values())
    return review.kind.group in (groups | described if mutating else groups)


def replay(
    review: Review, excess: str, forest: Forest, configuration: Configuration, fetch: Fetch, *, mutating: bool
) -> Replay:
    """Answer the review. `excess`: the result of `bounds.crowded` for the object. Raises OwnerUnknown."""
    if excess := excess or foreign_settings(review.object, configuration.yunikorn):
        return Replay(answer.denied(review, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, excess))
    try:
        forest = forest.put_all(owners(review, configuration, fetch, forest if mutating else Forest()))
        if not mutating:
            forest = forest.put_all(named_workload(review, configuration, fetch))
    except OwnerMissing as error:
        return Replay(answer.denied(review, HTTPStatus.FORBIDDEN, str(error)))
    if mutating:
        asked = (forest, configuration, review.operation, review.user)
        operations = patch(review.object, *asked) if review.object else []
        return Replay(answer.mutated(review, operations), operations=tuple(operations))
    judgement = decision.judge_review(review, forest, configuration)
    verdict = judgement.verdict if judgement else Verdict()
    return Replay(answer.validated(review, verdict, configuration.profile), verdict)
