"""Writes an audit as reports of OpenReports, or as PolicyReports: one report for each tree and namespace.

Findings about cluster-scoped objects are in the cluster-wide report of their tree. Findings about an object in a
namespace are in a report there, which the users of that namespace may read.
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
"""The label of Quotree's reports. Only objects with this label and a name with the prefix `PREFIX` are deleted."""
PREFIX = "quotree-"
LEFT_OUT_ANNOTATION = "quotree.dev/results-left-out"
"""The annotation with the number of results that did not fit. The summary counts them, too."""
MOST_RESULTS = 100
"""The most results in one report by default."""
_NO_TREE = f"{PREFIX}in-no-tree"
_LONGEST_MESSAGE = 2000
"""The most characters of a message. A thousand results with such messages fit into one object in etcd."""
_LONGEST_SLUG = 32
"""The most characters of the root's name in the name of a report."""
_GROUPS = {Dialect.KUEUE: kueue.GROUP, Dialect.VOLCANO: volcano.GROUP}
_RESULTS = {Severity.ERROR: ("fail", "high"), Severity.WARNING: ("warn", "medium")}
_CONTENT_FIELDS = ("source", "scope", "scopeSelector", "configuration", "summary", "results")
"""The fields with the content of a report. Quotree writes all but `scopeSelector`."""
_SCOPE_FIELDS = ("apiVersion", "fieldPath", "kind", "name", "namespace", "resourceVersion", "uid")


@dataclass(frozen=True, slots=True)
class ReportApi:
    """An API of reports, with a namespaced kind and a cluster-wide one.

    `kind`, `plural`: those of the namespaced kind.
    `names_source`: whether a report has the fields `source` and `configuration`.
    """

    group: str
    version: str
    kind: str
    plural: str
    names_source: bool

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}"

    def kind_of(self, namespaced: bool) -> str:
        return self.kind if namespaced else f"Cluster{self.kind}"

    def plural_of(self, namespaced: bool) -> str:
        return self.plural if namespaced else f"cluster{self.plural}"


OPEN_REPORTS = ReportApi("openreports.io", "v1alpha1", "Report", "reports", names_source=True)
POLICY_REPORTS = ReportApi("wgpolicyk8s.io", "v1alpha2", "PolicyReport", "policyreports", names_source=False)
APIS = (OPEN_REPORTS, POLICY_REPORTS)
"""The APIs of reports, in the order of preference."""


def reports(audit: Audit, api: ReportApi = OPEN_REPORTS, most: int = MOST_RESULTS) -> Iterator[Manifest]:
    """The reports. Each has at most `most` results, the worst ones."""
    for tree in audit.trees:
        by_namespace: dict[str, list[AuditedFinding]] = {}
        for each in tree.found:
            if each.judged.severity in _RESULTS:
                by_namespace.setdefault(each.object.namespace, []).append(each)
        for namespace in sorted(by_namespace):
            yield _report(api, tree.root, namespace, by_namespace[namespace], most)


def report_name(root: TreeRoot | None) -> str:
    """The name of a tree's reports: the dialect, the valid part of the root's name, and a digest of the root."""
    if root is None:
        return _NO_TREE
    slug = re.sub(r"[^a-z0-9]+", "-", root.name.lower())[:_LONGEST_SLUG].strip("-")
    digest = sha256("/".join(root).encode()).hexdigest()[:10]
    return f"{PREFIX}{root.dialect.value}-{slug + '-' if slug else ''}{digest}"


def content(report: Mapping[str, Any]) -> str:
    """The content of a report as a text to compare. Fields, labels and annotations of others do not count."""
    meta = report.get("metadata") or {}
    labels, annotations = (meta.get(key) or {} for key in ("labels", "annotations"))
    kept = [labels.get(key) for key in MANAGED_BY]
    return json.dumps([*kept, annotations.get(LEFT_OUT_ANNOTATION), *map(report.get, _CONTENT_FIELDS)], sort_keys=True)


def overwrite_patch(report: Mapping[str, Any]) -> Manifest:
    """The merge patch that gives any report the content of this one. It also removes content that this one lacks."""
    meta = report["metadata"]
    scope = report.get("scope")
    whole = {**dict.fromkeys(_SCOPE_FIELDS), **scope} if scope else None
    return {
        "metadata": {"labels": meta["labels"], "annotations": meta["annotations"]},
        **{key: report.get(key) for key in _CONTENT_FIELDS},
        "scope": whole,
    }


def _report(
    api: ReportApi, root: TreeRoot | None, namespace: str, found: Sequence[AuditedFinding], most: int
) -> Manifest:
    name = {"name": report_name(root), **({"namespace": namespace} if namespace else {})}
    left_out = str(max(0, len(found) - most))
    limits = {"limits": {"maxResults": most, "statusFilter": [result for result, _ in _RESULTS.values()]}}
    scope = _scope(root)
    return {
        "apiVersion": api.api_version,
        "kind": api.kind_of(bool(namespace)),
        "metadata": {**name, "labels": dict(MANAGED_BY), "annotations": {LEFT_OUT_ANNOTATION: left_out}},
        **({"source": SOURCE, "configuration": limits} if api.names_source else {}),
        **({"scope": scope} if scope else {}),
        "summary": _summary(found),
        "results": [_result(each) for each in found[:most]],
    }


def _scope(root: TreeRoot | None) -> dict[str, str] | None:
    """The reference to the root; None if the root is not an object of its own."""
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
    message = statement(judged)
    return {
        "source": SOURCE,
        "policy": judged.rule.id,
        "category": audited.dialect.value,
        "severity": severity,
        "result": result,
        "scored": True,
        "message": message if len(message) <= _LONGEST_MESSAGE else f"{message[: _LONGEST_MESSAGE - 3]}...",
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
