"""What Volcano's mutating webhooks fill in, by their own tables, under `compat`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from policies.configuration.settings import Configuration, VolcanoResourceGroup, VolcanoSettings
from policies.model.findings import Profile
from policies.mutation.defaults import patch
from tests.builders import world
from tests.conformance.suite import Data, Suite, mismatch, suite
from webhook.review import BadReview, parse

_COMPAT = Configuration(profile=Profile.COMPAT)


def suites(folder: Path) -> Iterator[Suite]:
    makers: dict[str, Callable[[Data, Data], str | None]] = {
        "queues-mutate": _queue_differs,
        "podgroups-mutate": _pod_group_differs,
        "pods-mutate": _pod_differs,
    }
    for name, differs in makers.items():
        file = folder / "volcano" / f"{name}.json"
        if file.is_file():
            yield suite("volcano", file, partial(_compared, differs))


def _compared(differs: Callable[[Data, Data], str | None], case: Data) -> str | None:
    return differs(case["given"], case["expect"])


def _queue_differs(given: Data, expect: Data) -> str | None:
    """A review that cannot be answered counts as refused: the API server does not let such a request through either."""
    envelope = {**given["admissionReview"], "apiVersion": "admission.k8s.io/v1"}
    try:
        review = parse(json.dumps(envelope).encode())
    except BadReview as error:
        return f"expected an answer, got: {error}" if expect["allowed"] else None
    if not expect["allowed"]:
        return f"expected a refusal of {review.operation}"
    return mismatch(expect["patch"] or [], patch(review.manifest, world(), _COMPAT, review.operation))


def _pod_group_differs(given: Data, expect: Data) -> str | None:
    return mismatch(expect["patch"] or [], patch(given["podGroup"], world(*(given["namespaces"] or ())), _COMPAT))


def _pod_differs(given: Data, expect: Data) -> str | None:
    """The groups are written as Volcano's Go names them; their text of an affinity is JSON."""
    groups = tuple(_group(group) for group in (given.get("admissionConfig") or {}).get("ResGroupsConfig") or ())
    configuration = replace(_COMPAT, volcano=VolcanoSettings(resource_groups=groups))
    return mismatch(expect["patch"] or [], patch(given["pod"], world(), configuration))


def _group(given: Data) -> VolcanoResourceGroup:
    return VolcanoResourceGroup(
        name=given["ResourceGroup"],
        by=given["Object"]["Key"],
        values=tuple(given["Object"]["Value"] or ()),
        labels=given["Labels"] or {},
        affinity=json.loads(given["Affinity"]) if given["Affinity"] else {},
        tolerations=tuple(given["Tolerations"] or ()),
        scheduler_name=given["SchedulerName"],
    )
