"""JSON Schemas of what `simulate`, `why` and `tree` print, and the reconciler answers for the same at /v1.

They share most of their parts, so each is put together from these. The schema of reports is written by hand.
"""

from __future__ import annotations

import json
from typing import Any

from generators.volcano_schema import volcano, waiting_pod
from generators.yunikorn_schema import waiting, yunikorn

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_YES: Schema = {"type": "boolean"}
_AMOUNT: Schema = {"description": "A quantity, as Kubernetes writes it.", "type": "string", "minLength": 1}
_NODE: Schema = {"enum": ["Cohort", "ClusterQueue"]}


def _object(required: Schema, optional: Schema | None = None) -> Schema:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": {**required, **(optional or {})},
    }


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _map(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


_LACK = _object(
    {
        "podSet": _TEXT,
        "flavor": _TEXT,
        "resource": _TEXT,
        "wanted": _AMOUNT,
        "free": _AMOUNT,
        "ever": {"description": "Whether it fits when nothing else is admitted.", "type": "boolean"},
        "obstacle": {
            "description": "The node and its limit that are in the way.",
            "anyOf": [
                {"type": "null"},
                _object({"kind": _NODE, "name": _TEXT, "limit": _TEXT, "lacking": _AMOUNT}),
            ],
        },
        "raise": {
            "description": "Limits of which each would be enough if it were raised, nearest first.",
            **_list(_object({"kind": _NODE, "name": _TEXT, "limit": _TEXT, "from": _AMOUNT, "to": _AMOUNT})),
        },
        "kept": _list(_object({"kind": _NODE, "name": _TEXT, "amount": _AMOUNT})),
        "holders": _list(_object({"clusterQueue": _TEXT, "used": _AMOUNT, "borrowed": _AMOUNT})),
    },
    {
        "raiseElsewhere": {"description": "Further such limits, of nodes that the caller may not read.", **_COUNT},
        "keptByOthers": {"description": "By nodes that the caller may not read.", **_AMOUNT},
        "heldByOthers": {"description": "By queues that the caller may not read.", **_AMOUNT},
    },
)
_POD_SET = _object(
    {"name": _TEXT, "count": _COUNT, "asked": _COUNT, "flavors": _map(_TEXT), "resourceUsage": _map(_AMOUNT)}
)
_JOB = _object({"kind": _TEXT, "namespace": _TEXT, "name": _TEXT}, {"workload": _TEXT})
_RUNNING: Schema = {
    "job": _ref("job"),
    "clusterQueue": _TEXT,
    "admitted": _YES,
    "podSets": _list(_ref("podSet")),
    "waitsForChecks": _list(_TEXT),
}
_SENTENCE: Schema = {"description": "What it waits for and what helps, for its owner.", **_TEXT}
_WAITING: Schema = {"job": _ref("job"), "sentence": _SENTENCE, "reason": _TEXT, "message": _TEXT}
_WAITING_MORE: Schema = {
    "notBefore": {"description": "The end of its backoff.", "type": ["integer", "string"]},
    "behind": _ref("job"),
    "behindAnother": {"description": "Behind one that the caller may not read.", "const": True},
    "clusterQueue": _TEXT,
    "position": {"description": "From 1; null where it has none.", "type": ["integer", "null"]},
    "ahead": {
        "description": "Who stands before it in its ClusterQueue: some that the caller may read, and how many others."
        " Absent for the first.",
        **_object({"workloads": _list(_ref("job")), "others": _COUNT}),
    },
    "setAside": {"description": "Inadmissible until something changes.", "type": "boolean"},
    "lacks": _list(_ref("lack")),
    "others": {"description": "Further reasons, in words.", **_list(_TEXT)},
    "leaving": {"description": "Those that are being preempted for it.", **_list(_ref("job"))},
    "leavingElsewhere": _COUNT,
}
_PLACEMENT = _object(
    {
        "check": _TEXT,
        "state": _TEXT,
        "message": _TEXT,
        "nominated": _list(_TEXT),
        "cluster": {"type": ["string", "null"]},
    },
    {"refused": _list(_object({"cluster": _TEXT, "reason": _TEXT, "message": _TEXT}))},
)
_WORK = {"job": _JOB, "podSet": _POD_SET, "lack": _LACK}


def generate() -> dict[str, str]:
    found = {
        "diagnosis": _diagnosis(),
        "explanation": _explanation(),
        "finding-list": _finding_list(),
        "job-states": _job_states(),
        "pending-pods": _pending_pods(),
        "simulation": _simulation(),
        "tree": _tree(),
    }
    return {f"docs/schemas/{name}.schema.json": json.dumps(schema, indent=2) + "\n" for name, schema in found.items()}


def _job_states() -> Schema:
    workload = _object(
        {
            "name": _TEXT,
            "stands": {"description": "Whether the job goes by it.", "type": "boolean"},
            "pods": {"description": "Pods in sight that run on its quota.", **_COUNT},
        },
        {"state": _TEXT, "why": _TEXT},
    )
    change = _object({"from": _TEXT, "event": _TEXT, "to": _TEXT}, {"at": _TEXT})
    job = _object(
        {
            **dict.fromkeys(("kind", "namespace", "name", "uid", "state", "why"), _TEXT),
            "workloads": _list(workload),
            "changes": {"description": "The last changes of its state, the oldest first.", **_list(change)},
        },
        {
            "until": {"description": "Nothing is concluded before.", **_TEXT},
            "waitsSince": {"description": "For so long it has not been shown, or not been queued.", **_TEXT},
            "owner": {"description": "The job that controls it.", **_TEXT},
        },
    )
    head = {"apiVersion": {"const": "quotree.dev/v1alpha1"}, "kind": {"const": "JobStates"}}
    title = "Output of quotree why --trace, and of /v1/jobs/NAMESPACE/NAME"
    return _document("job-states", title, "JobStates", _object({**head, "items": _list(job)}), {})


def _document(name: str, title: str, kind: str, body: Schema, definitions: Schema) -> Schema:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"https://quotree.dev/schemas/v1alpha1/{name}.schema.json",
        "title": title,
        "description": "Fields may be added within v1alpha1; none changes its meaning.",
        "properties": {"apiVersion": {"const": "quotree.dev/v1alpha1"}, "kind": {"const": kind}},
        **body,
        "$defs": definitions,
    }


def _finding_list() -> Schema:
    root = _object({"kind": _TEXT, "name": _TEXT})
    any_root: Schema = {"anyOf": [{"type": "null"}, root]}
    dialect: Schema = {"enum": ["kueue", "volcano", "yunikorn"]}
    item = _object(
        {
            "rule": _TEXT,
            "severity": {"enum": ["error", "warning", "info"]},
            "dialect": dialect,
            "root": {"description": "Of the object's tree; null where it is in none.", **any_root},
            "object": _object({"kind": _TEXT, "namespace": _TEXT, "name": _TEXT}),
            "field": _TEXT,
            "message": _TEXT,
            "fingerprint": {"description": "The same from one audit to the next.", "type": "string"},
        },
        {"fix": _TEXT},
    )
    counts = dict.fromkeys(("findings", "errors", "warnings"), _COUNT)
    tree = _object({"root": root, "dialect": dialect, **counts})
    fields: Schema = {
        "apiVersion": True,
        "kind": True,
        "judged": {"type": "string", "format": "date-time"},
        "items": _list(item),
        "roots": {
            "description": "The trees, with all findings: also those on other pages.",
            **_list(tree),
        },
        "baselined": {"description": "Findings that the baseline has, and that are left out.", **_COUNT},
        "notEvaluated": _list(_object({"rule": _TEXT, "reason": _TEXT})),
    }
    return _document("finding-list", "Findings of an audit by quotree", "FindingList", _object(fields), {})


def _diagnosis() -> Schema:
    state = ["ok", "warning", "failure", "skipped"]
    result = _object(
        {
            "id": {"description": "Of the check; it never changes.", "type": "string", "pattern": "^[a-z-]+$"},
            "state": {"description": "skipped: it could not look, for the reason in the message.", "enum": state},
            "subject": {"description": "The object that it is about; empty for the cluster.", **_TEXT},
            "message": _TEXT,
            "fix": {"description": "What to do; a warning and a failure have one.", **_TEXT},
        }
    )
    fields: Schema = {
        "apiVersion": True,
        "kind": True,
        "context": _object({"name": {"description": "Empty for the current one.", **_TEXT}, "server": _TEXT}),
        "summary": _object(dict.fromkeys(state, _COUNT)),
        "checks": _list(result),
    }
    return _whole("diagnosis", "Output of quotree doctor", "Diagnosis", fields, {})


def _pending_pods() -> Schema:
    fields: Schema = {
        "apiVersion": True,
        "kind": True,
        "items": _list({"anyOf": [waiting(_object), waiting_pod(_object)]}),
    }
    return _whole("pending-pods", "The lists of Pods at the gate at /v1", "PendingPods", fields, {})


def _explanation() -> Schema:
    states = {
        "waiting": (_WAITING, _WAITING_MORE),
        "running": (_RUNNING, {"sentence": _SENTENCE}),
        "finished": ({"job": _ref("job")}, {}),
        "beingAdmitted": ({"job": _ref("job")}, {}),
        "inNoQueue": ({"job": _ref("job"), "reason": _TEXT}, {}),
    }
    head: Schema = {"apiVersion": True, "kind": True}
    trace: Schema = {
        "description": "The id in log lines, Events and traces about the workload; none of one that is in no cluster.",
        "type": "string",
        "pattern": "^[0-9a-f]{32}$",
    }
    also: Schema = {"placement": _ref("placement"), "trace": trace}
    either = [
        _object({**head, "state": {"const": state}, **required}, {**optional, **also})
        for state, (required, optional) in states.items()
    ]
    title = "Output of quotree why, and of /v1/workloads/NAMESPACE/NAME/explanation"
    return _document("explanation", title, "Explanation", {"oneOf": either}, {**_WORK, "placement": _PLACEMENT})


def _simulation() -> Schema:
    place: Schema = {"file": _TEXT, "line": _COUNT, "column": _COUNT}
    named = {"kind": _TEXT, "namespace": _TEXT, "name": _TEXT}
    fields: Schema = {
        "apiVersion": True,
        "kind": True,
        "start": {"type": "string", "format": "date-time"},
        "seconds": {"description": "Since the start, at the end.", **_COUNT},
        "settled": {"description": "Whether it came to rest.", "type": "boolean"},
        "fairSharing": _YES,
        "assumptions": _list(_TEXT),
        "happened": _list(_ref("event")),
        "running": _list(_object(_RUNNING)),
        "waiting": _list(_object(_WAITING, _WAITING_MORE)),
        "finished": _list(_ref("job")),
        "inNoQueue": _list(_object({**named, "reason": _TEXT})),
        "nodes": _list(_ref("node")),
        "cycles": _list(_list(_TEXT)),
        "unreadable": _list(_object({**place, "message": _TEXT})),
    }
    parts = {**_WORK, "event": _event(), "node": _node()}
    problems = {"description": "What Volcano's or YuniKorn's simulation left out, and why.", **_list(_TEXT)}
    others = {"problems": problems, "volcano": volcano(_object), "yunikorn": yunikorn(_object)}
    return _whole("simulation", "Output of quotree simulate", "Simulation", fields, parts, others)


def _whole(
    name: str, title: str, kind: str, required: Schema, definitions: Schema, optional: Schema | None = None
) -> Schema:
    """A document of an object, with its `required` and `optional` fields."""
    body = _object(required, optional)
    del body["properties"]["apiVersion"], body["properties"]["kind"]
    document = _document(name, title, kind, {}, definitions)
    document["properties"] |= body.pop("properties")
    return {**document, **body}


def _event() -> Schema:
    loan = _object({"flavor": _TEXT, "resource": _TEXT, "amount": _AMOUNT, "from": _TEXT})
    return _object(
        {"what": {"enum": ["played", "reserved", "admitted", "preempted", "evicted", "finished"]}, "at": _COUNT},
        {
            "event": {"description": "As on the command line.", **_TEXT},
            "job": _ref("job"),
            "clusterQueue": _TEXT,
            "reason": _TEXT,
            "message": _TEXT,
            "for": {"description": "The preemptor.", **_ref("job")},
            "forQueue": _TEXT,
            "podSets": _list(_ref("podSet")),
            "borrowed": _list(loan),
            "waitsForChecks": _list(_TEXT),
        },
    )


def _node() -> Schema:
    row = _object(
        {
            "flavor": {"description": "Empty where the dialect has none.", **_TEXT},
            "resource": _TEXT,
            "own": {"description": "Limits by their name in the manifest; what is in use.", **_map(_AMOUNT)},
            "children": {"description": "The same, summed over the children.", **_map(_AMOUNT)},
        }
    )
    return _object(
        {
            "dialect": {"enum": ["Kueue", "Volcano", "YuniKorn"]},
            "kind": _TEXT,
            "name": _TEXT,
            "parent": {"type": ["string", "null"]},
            "quota": _list(row),
        },
        {
            "root": {"description": "Of several organisations in the files, the folder or file of this one.", **_TEXT},
            "exists": {"description": "False for a Cohort that only others name.", "type": "boolean"},
            "state": {"description": "Of /v1/volcano/tree.", **_TEXT},
            "children": _list(_TEXT),
            "workloads": _object({"pending": _COUNT, "reserving": _COUNT, "admitted": _COUNT}),
            "podGroups": {"description": "Of the queue and all below, by phase.", **_map(_COUNT)},
            "applications": _object({"running": _COUNT, "waiting": _COUNT}),
        },
    )


def _tree() -> Schema:
    fields: Schema = {
        "context": _object({"against": {"enum": ["nothing", "files", "cluster", "snapshot"]}, "name": _TEXT}),
        "nodes": _list(_ref("node")),
        "cycles": _list(_list(_TEXT)),
        "onCycles": {"description": "Of /v1/tree: the Cohorts on cycles.", **_list(_TEXT)},
    }
    document = _document("tree", "Output of quotree tree, and of the trees at /v1", "Tree", {}, {"node": _node()})
    document["properties"] |= fields
    return {**document, "type": "object", "additionalProperties": False, "required": ["apiVersion", "kind", "nodes"]}
