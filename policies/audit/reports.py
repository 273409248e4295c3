"""An audit as reports of OpenReports, or as PolicyReports: one for each tree and namespace, of what fails.

What is found of a cluster-scoped object is in the cluster-wide report of its tree; what is found of an object in a
namespace is in a report there, which the people of that namespace may read.
Source: openreports.io/v1alpha1; wgpolicyk8s.io/v1alpha2.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from policies.audit.audited import Audit, AuditedFinding
from policies.audit.roots import TreeRoot
from policies.configuration.settings import Dialect
from policies.dialects import kueue, volcano
from policies.dialects.newest import newest_version
from policies.judging.sentence import statement
from policies.model.findings import Severity
from policies.model.objects import Ref

Manifest = dict[str, Any]
SOURCE = "quotree"
MANAGED_BY = {"app.kubernetes.io/managed-by": SOURCE}
"""The label of our reports. Objects without it, or with a name that does not begin with `PREFIX`, are never deleted."""
PREFIX = "quotree-"
LEFT_OUT = "quotree.dev/results-left-out"
"""The annotation with the number of results that did not fit. The summary counts them, too."""
MOST = 100
"""Results in one report by default."""
_NO_TREE = f"{PREFIX}in-no-tree"
_LONGEST = 2000
"""Characters of a message. A thousand results of that length fit into what etcd stores."""
_SLUG = 32
_GROUPS = {Dialect.KUEUE: kueue.GROUP, Dialect.VOLCANO: volcano.GROUP}
_RESULTS = {Severity.ERROR: ("fail", "high"), Severity.WARNING: ("warn", "medium")}
_OF_SCOPE = ("apiVersion", "fieldPath", "kind", "name", "namespace", "resourceVersion", "uid")


@dataclass(frozen=True, slots=True)
class ReportApi:
    """An API of reports, with the kind in a namespace and the cluster-wide one. `rich`: a report says who wrote it, and
    how many results it has at most."""

    group: str
    version: str
    kind: str
    plural: str
    rich: bool

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}"

    def kind_of(self, namespaced: bool) -> str:
        return self.kind if namespaced else f"Cluster{self.kind}"

    def plural_of(self, namespaced: bool) -> str:
        return self.plural if namespaced else f"cluster{self.plural}"


OPEN_REPORTS = ReportApi("openreports.io", "v1alpha1", "Report", "reports", rich=True)
POLICY_REPORTS = ReportApi("wgpolicyk8s.io", "v1alpha2", "PolicyReport", "policyreports", rich=False)
APIS = (OPEN_REPORTS, POLICY_REPORTS)
"""The APIs of reports, in the order of preference."""


def reports(audit: Audit, api: ReportApi = OPEN_REPORTS, most: int = MOST) -> Iterator[Manifest]:
    """The reports of what fails, each with its worst results up to a limit."""
    for tree in audit.trees:
        spaces: dict[str, list[AuditedFinding]] = {}
        for each in tree.found:
            if each.judged.severity in _RESULTS:
                spaces.setdefault(each.object.namespace, []).append(each)
        yield from (_report(api, tree.root, namespace, spaces[namespace], most) for namespace in sorted(spaces))


def name_of(root: TreeRoot | None) -> str:
    """The name of a tree's reports: its own, as far as a name may have it, and what tells it from others like it."""
    if root is None:
        return _NO_TREE
    slug = re.sub(r"[^a-z0-9]+", "-", root.name.lower())[:_SLUG].strip("-")
    digest = sha256("/".join(root).encode()).hexdigest()[:10]
    return f"{PREFIX}{root.dialect.value}-{slug + '-' if slug else ''}{digest}"


def content(report: Mapping[str, Any]) -> str:
    """What a report says, as text to compare: all that we write, and nothing that others may add beside it."""
    meta = report.get("metadata") or {}
    labels, annotations = (meta.get(key) or {} for key in ("labels", "annotations"))
    kept = [labels.get(key) for key in MANAGED_BY]
    return json.dumps([*kept, annotations.get(LEFT_OUT), *map(report.get, _WRITTEN)], sort_keys=True)


def overwriting(report: Mapping[str, Any]) -> Manifest:
    """The merge patch that makes a report with any content say this: it also removes what we do not write."""
    meta = report["metadata"]
    scope = report.get("scope")
    whole = {**dict.fromkeys(_OF_SCOPE), **scope} if scope else None
    return {
        "metadata": {"labels": meta["labels"], "annotations": meta["annotations"]},
        **{key: report.get(key) for key in _WRITTEN},
        "scope": whole,
    }


_WRITTEN = ("source", "scope", "scopeSelector", "configuration", "summary", "results")


def _report(
    api: ReportApi, root: TreeRoot | None, namespace: str, found: Sequence[AuditedFinding], most: int
) -> Manifest:
    name = {"name": name_of(root), **({"namespace": namespace} if namespace else {})}
    left_out = str(max(0, len(found) - most))
    limits = {"limits": {"maxResults": most, "statusFilter": [result for result, _ in _RESULTS.values()]}}
    scope = _scope(root)
    return {
        "apiVersion": api.api_version,
        "kind": api.kind_of(bool(namespace)),
        "metadata": {**name, "labels": dict(MANAGED_BY), "annotations": {LEFT_OUT: left_out}},
        **({"source": SOURCE, "configuration": limits} if api.rich else {}),
        **({"scope": scope} if scope else {}),
        "summary": _summary(found),
        "results": [_result(each) for each in found[:most]],
    }


def _scope(root: TreeRoot | None) -> dict[str, str] | None:
    """The root, where that is an object."""
    if root is None or (group := _GROUPS.get(root.dialect)) is None:
        return None
    ref = Ref(group, root.kind, "", root.name)
    return {"apiVersion": newest_version(ref), "kind": root.kind, "name": root.name}


def _summary(found: Sequence[AuditedFinding]) -> dict[str, int]:
    counts = {result: sum(each.judged.severity is it for each in found) for it, (result, _) in _RESULTS.items()}
    return {"pass": 0, "fail": 0, "warn": 0, "error": 0, "skip": 0, **counts}


def _result(audited: AuditedFinding) -> Manifest:
    judged, ref = audited.judged, audited.object
    result, severity = _RESULTS[judged.severity]
    said = statement(judged)
    return {
        "source": SOURCE,
        "policy": judged.rule.id,
        "category": audited.dialect.value,
        "severity": severity,
        "result": result,
        "scored": True,
        "message": said if len(said) <= _LONGEST else f"{said[: _LONGEST - 3]}...",
        "resources": [
            {
                "apiVersion": audited.version,
                "kind": ref.kind,
                "name": ref.name,
                **({"namespace": ref.namespace} if ref.namespace else {}),
            }
        ],
        "properties": {"field": judged.finding.field, "fingerprint": audited.fingerprint},
    }
