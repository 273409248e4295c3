"""The pods that a job describes in its manifest. Kueue will make pod sets of them.

Source: Kueue v0.19, pkg/controller/jobs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from policies.dialects.job_shape import Framework, PodsAt
from policies.dialects.kueue_kinds import PREFIX
from policies.dialects.reading import Manifest, mapping, texts
from policies.model import fields


@dataclass(frozen=True, slots=True)
class JobPods:
    """Pods of a job that share a template.

    `template`: the pod template in the job, at the path `at`.
    `counted`: the template with the additions of the job's controller.
    `annotations`: those for Kueue.
    """

    name: str
    count: int
    template: Mapping[str, Any]
    counted: Mapping[str, Any]
    at: str
    annotations: Mapping[str, str] = field(default_factory=dict)


def job_pods(framework: Framework, manifest: Manifest) -> tuple[JobPods, ...]:
    """The pods of a job; empty for kinds that are not read, and without missing parts."""
    return tuple(_found(pods) for pods in framework.pods_of(manifest))


def _found(pods: PodsAt) -> JobPods:
    return JobPods(
        pods.name, pods.count, pods.template, pods.counted, fields.join("", *pods.path), _ours(pods.template)
    )


def _ours(template: Mapping[str, Any]) -> dict[str, str]:
    notes = texts(mapping(template.get("metadata")).get("annotations"))
    return {key: value for key, value in notes.items() if key.startswith(PREFIX)}
