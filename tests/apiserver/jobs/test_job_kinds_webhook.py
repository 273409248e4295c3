"""End to end: jobs of other kinds that name a LocalQueue are stored suspended, those of a described kind as well."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
import yaml

from tests.apiserver import build
from tests.apiserver.harness import ControlPlane
from tests.apiserver.jobs.job_kinds import JOB_SET, OF_OUR_OWN, PY_TORCH_JOB, TRAIN, Kind, definition
from tests.apiserver.kueue_world import served
from tests.apiserver.webhook.guard import ROOT, Guard
from tests.waiting import eventually

CONFIGURATION = {
    "apiVersion": "config.quotree.dev/v1alpha1",
    "kind": "Configuration",
    "kueue": {"manageJobs": True},
    "reconciler": {"jobs": [TRAIN]},
}
MUTATING = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/quotree-mutate"
KINDS = (JOB_SET, PY_TORCH_JOB, OF_OUR_OWN)


@pytest.fixture(scope="module")
def guard(programs: build.Programs) -> Iterator[Guard]:
    with ControlPlane() as server, Guard(server, yaml.safe_dump(CONFIGURATION)) as running:
        for kind in KINDS:
            server.kubectl("apply", "-f", "-", input=yaml.safe_dump(definition(kind)))
        eventually(lambda: all(served(server, path(kind)) for kind in KINDS))
        ask_about_trains(server)
        yield running


def path(kind: Kind) -> str:
    return f"/apis/{kind.version}/namespaces/default/{kind.plural}"


def ask_about_trains(server: ControlPlane) -> None:
    """Add what docs/configuration.md says to add."""
    page = (ROOT / "docs" / "configuration.md").read_text()
    start = page.index("    - name: trains.quotree.dev")
    (webhook,) = yaml.safe_load(textwrap.dedent(page[start : page.index("\n\n", start)]))
    installed = server.request("GET", MUTATING)
    like = next(each for each in installed["webhooks"] if each["name"] == "kueue-jobs.quotree.dev")
    webhook["clientConfig"] = like["clientConfig"]
    server.request("PUT", MUTATING, {**installed, "webhooks": [*installed["webhooks"], webhook]})


def created(server: ControlPlane, kind: Kind, name: str, labels: dict[str, str]) -> dict[str, Any]:
    meta = {"name": name, "labels": labels}
    body = {"apiVersion": kind.version, "kind": kind.kind, "metadata": meta, "spec": kind.spec}
    return server.request("POST", path(kind), body)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_a_job_that_names_a_queue_is_stored_suspended_and_another_as_it_came(guard: Guard, kind: Kind) -> None:
    server, names = guard.control_plane, count()
    queued = {"kueue.x-k8s.io/queue-name": "q"}

    def halted(job: dict[str, Any]) -> bool:
        found: Any = job
        for step in kind.switch.split("."):
            found = found.get(step, {})
        return bool(found == kind.halted)

    # An API server takes a moment to notice that a webhook was added.
    eventually(lambda: halted(created(server, kind, f"queued-{next(names)}", queued)))
    assert not halted(created(server, kind, "free", {}))
