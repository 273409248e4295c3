"""The API server's own record of who wrote what: its policy for tests, and the log read back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import yaml

WRITES = ("create", "update", "patch", "delete")
POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {
            "level": "Request",
            "verbs": list(WRITES),
            "resources": [
                {"group": "kueue.x-k8s.io"},
                {"group": "batch"},
                {"group": "coordination.k8s.io", "resources": ["leases"]},
                {"group": "", "resources": ["events", "pods"]},
            ],
        },
        {"level": "None"},
    ],
}


class Wrote(NamedTuple):
    """One write. `began` and `ended` are moments in seconds, by the API server's clock."""

    user: str
    began: float
    ended: float
    resource: str
    name: str
    status: int
    body: dict[str, Any]

    @property
    def gave_quota(self) -> bool:
        """Whether it made a Workload hold quota."""
        conditions = self.body.get("status", {}).get("conditions") or ()
        held = any(each["type"] == "QuotaReserved" and each["status"] == "True" for each in conditions)
        return self.resource == "workloads/status" and self.status < 300 and held


def flags(folder: Path) -> list[str]:
    """What the API server is started with; the log is `folder`/audit.log."""
    policy = folder / "policy.yaml"
    policy.write_text(yaml.safe_dump(POLICY))
    return [f"--audit-policy-file={policy}", f"--audit-log-path={folder / 'audit.log'}", "--audit-log-mode=blocking"]


def read(folder: Path) -> list[Wrote]:
    """In the order in which they began; a line that is still being written is left out."""
    return sorted(_wrote((folder / "audit.log").read_text()), key=lambda each: each.began)


def _wrote(text: str) -> Iterator[Wrote]:
    for line in text.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        target = event["objectRef"]
        resource = "/".join(filter(None, (target["resource"], target.get("subresource"))))
        yield Wrote(
            event["user"]["username"],
            _moment(event["requestReceivedTimestamp"]),
            _moment(event["stageTimestamp"]),
            resource,
            target.get("name", ""),
            event.get("responseStatus", {}).get("code", 0),
            event.get("requestObject") or {},
        )


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
