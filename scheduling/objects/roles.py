"""The roles of the Pods in a group. Each Pod claims a role by an annotation.

A user who may create a Pod may also change its annotations. So a role is ignored if Pods with different requests claim
it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import NamedTuple

from policies.amounts.role_hash import role_hash
from policies.dialects.kueue_pods import ROLE_HASH
from policies.dialects.reading import Manifest, mapping, metadata, texts
from scheduling.objects.amounts import Requests
from scheduling.objects.requests import per_pod
from scheduling.objects.template import PodTemplate, template

_DEVICES = "resourceClaims"
_LENGTH = 40
"""The hexadecimal digits of a computed role, so many that no collision can be made. Those of the annotation are 8."""


class RoleClaim(NamedTuple):
    """The role that a Pod claims, and its requests."""

    role: str
    asks: Requests


def claimed_role(pod: Manifest) -> str:
    """The role in the annotation of the Pod, or else the one that Kueue's webhook would write."""
    return texts(metadata(pod).get("annotations")).get(ROLE_HASH) or role_hash(mapping(pod.get("spec")))


def claim_of(pod: Manifest) -> RoleClaim:
    shape = template(pod.get("spec"))
    return RoleClaim(claimed_role(pod), pod_requests(shape))


def pod_requests(shape: PodTemplate) -> Requests:
    """The requests of one Pod, as quota counts them, and the number of its ResourceClaims."""
    claims = shape.spec.get(_DEVICES)
    return {**per_pod(shape), _DEVICES: len(claims)} if isinstance(claims, list) and claims else per_pod(shape)


def role_names(claims: Sequence[RoleClaim]) -> list[str]:
    """The role of each Pod: the one that it claims, unless Pods with different requests claim the same one."""
    asks: dict[str, Requests] = {}
    if all(asks.setdefault(claim.role, claim.asks) == claim.asks for claim in claims):
        return [claim.role for claim in claims]
    written = (json.dumps(dict(claim.asks), sort_keys=True) for claim in claims)
    return [hashlib.sha256(each.encode()).hexdigest()[:_LENGTH] for each in written]
