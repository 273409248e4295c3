"""Reads a write of the subresource `scale` as what it is: a change of the whole job. Its review only has a number."""

from __future__ import annotations

from dataclasses import replace

from cluster.resource import Resource
from policies.dialects.job_shape import at
from policies.dialects.kueue_jobs import KINDS
from policies.dialects.reading import replaced
from webhook.owners import Fetch, named, read
from webhook.review import BadReview, Review

SUBRESOURCE = "scale"
_SCALED = {(each.kind.group, each.plural): each for each in KINDS.values() if each.scaled}


def whole(review: Review, fetch: Fetch) -> Review:
    """The review with the job before and after, for a review with the two Scales. Raises OwnerUnknown and BadReview."""
    shape = _SCALED.get(review.resource)
    if shape is None:
        raise BadReview(f"request.resource {'/'.join(review.resource)} is not a kind of job with a subresource scale")
    resource = Resource(shape.kind.group, shape.version, shape.plural, namespaced=True)
    job = read(fetch, resource, review.namespace, review.name)
    if job is None:
        raise BadReview(f"{shape.kind.kind} {review.namespace}/{review.name} does not exist")
    before, after = (
        replaced(named(job, resource, shape.kind.kind), shape.scaled, at(scale, "spec.replicas") or 0)
        for scale in (review.old_object, review.object)
    )
    return replace(review, kind=shape.kind, subresource="", old_object=before, object=after)
