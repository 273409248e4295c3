"""Errors and warnings in repositories of others that are true, each with the reason that a person saw.

An entry is the file, the rule and why it is right. Whatever else is found there is a false alarm, to be mended at its
cause. A rule that is added later may find more that is true: add a line.
"""

from __future__ import annotations

from typing import NamedTuple


class TrueFinding(NamedTuple):
    file: str
    rule: str
    why: str


TRUE_FINDINGS: dict[str, tuple[TrueFinding, ...]] = {
    "kueue": (
        TrueFinding(
            "site/static/examples/serving-workloads/sample-leaderworkerset-tas.yaml",
            "amount-implausible",
            "the workers request a GPU without a limit, which the API server refuses in a Pod",
        ),
        TrueFinding(
            "site/static/examples/admin/minimal-cq.yaml",
            "check-flavor-missing",
            "admissionChecksStrategy names default-flavor, and the queue has no flavor at all",
        ),
        TrueFinding(
            "site/static/examples/jobs/sample-xgboostjob.yaml",
            "bad-quantity",
            "cpu: 0.5 is a number, and the CustomResourceDefinition asks for an integer or a string",
        ),
    ),
    "volcano": (
        TrueFinding(
            "example/invalid_jobs/duplicatedPolicyEvent-webhook-deny.yaml",
            "job-contradiction",
            "wrong on purpose: two policies of one event",
        ),
        TrueFinding(
            "example/invalid_jobs/duplicatedTaskName-webhook-deny.yaml",
            "job-contradiction",
            "wrong on purpose: two tasks of one name",
        ),
        TrueFinding(
            "example/invalid_jobs/minAvailable-webhook-deny.yaml",
            "min-available-exceeds-replicas",
            "wrong on purpose: minAvailable is 5, and there are 4 replicas",
        ),
        TrueFinding(
            "example/kubecon-2019-china/task-priority/elastic-job.yaml",
            "unknown-field",
            "pods have a priorityClassName, not a priorityClass",
        ),
    ),
    "yunikorn-core": (
        TrueFinding(
            "config/limit.yaml",
            "user-limit-exceeds-queue",
            "a user may have 50 applications in a queue whose parent allows 10",
        ),
        TrueFinding("config/limit.yaml", "user-limit-invalid", "the wildcard comes before a group, or without one"),
        TrueFinding("config/queues.yaml", "queue-setting-ignored", "root.test has the property x, which means nothing"),
    ),
    "yunikorn-k8shim": (
        TrueFinding(
            "deployments/examples/spark/driver.yaml",
            "bad-structure",
            "numbers stand where the API server expects texts",
        ),
        TrueFinding(
            "deployments/examples/mpioperator/Pi/pi.yaml",
            "unknown-field",
            "the labels of both templates stand beside metadata, not in it",
        ),
    ),
    "distributed-workloads": (),
}
