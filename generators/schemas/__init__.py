"""Generates the JSON Schemas of the output of commands such as `simulate`, `why` and `tree`, and of /v1.

The schemas share most of their parts. The schema of reports is written by hand.
"""

from __future__ import annotations

from generators.files import as_json
from generators.schemas import volcano, yunikorn
from generators.schemas.parts import COUNT, TEXT, YES, Schema, list_of, map_of, object_of, texts

_AMOUNT: Schema = {"description": "A quantity, as Kubernetes writes it.", "type": "string", "minLength": 1}
_NODE: Schema = {"enum": ["Cohort", "ClusterQueue"]}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


_LACK = object_of(
    {
        "podSet": TEXT,
        "flavor": TEXT,
        "resource": TEXT,
        "wanted": _AMOUNT,
        "free": _AMOUNT,
        "ever": {"description": "Whether it fits when nothing else is admitted.", **YES},
        "obstacle": {
            "description": "The node and its limit that keep the workload from being admitted.",
            "anyOf": [
                {"type": "null"},
                object_of({"kind": _NODE, "name": TEXT, "limit": TEXT, "lacking": _AMOUNT}),
            ],
        },
        "raise": {
            "description": "Limits, nearest first. Raising one of them is enough.",
            **list_of(object_of({"kind": _NODE, "name": TEXT, "limit": TEXT, "from": _AMOUNT, "to": _AMOUNT})),
        },
        "kept": list_of(object_of({"kind": _NODE, "name": TEXT, "amount": _AMOUNT})),
        "holders": list_of(object_of({"clusterQueue": TEXT, "used": _AMOUNT, "borrowed": _AMOUNT})),
    },
    {
        "raiseElsewhere": {"description": "Further such limits, of nodes that the caller may not read.", **COUNT},
        "keptByOthers": {"description": "The amount at nodes that the caller may not read.", **_AMOUNT},
        "moreHolders": {
            "description": "Further queues that use some of it: their number, and their usage together.",
            **object_of({"count": COUNT, "used": _AMOUNT, "borrowed": _AMOUNT}),
        },
        "heldByOthers": {"description": "The usage of queues that the caller may not read.", **_AMOUNT},
    },
)
_DOMAIN = object_of({"name": TEXT, "values": list_of(TEXT), "pods": COUNT})
_PLACES = object_of(
    {
        "levels": {"description": "All levels of the Topology, coarsest first.", **list_of(TEXT)},
        "level": {"description": "The requested level: that of its slices if it has slices.", **TEXT},
        "domains": {"description": "The domains of `level`.", **list_of(_DOMAIN)},
        "lowest": {"description": "The domains of the lowest level.", **list_of(_DOMAIN)},
    }
)
_SHORT_DOMAIN = object_of(
    {
        "podSet": TEXT,
        "flavor": TEXT,
        "level": {"description": "Null if the pods may use all domains together.", "type": ["string", "null"]},
        "name": {"type": ["string", "null"]},
        "values": list_of(TEXT),
        "room": COUNT,
        "needed": COUNT,
        "unit": {"enum": ["pod", "slice"]},
        "ofSlice": {"description": "Whether the units are the pods of one slice.", **YES},
        "ever": {"description": "Whether there is room if no other work is in the topology.", **YES},
    }
)
_POD_SET = object_of(
    {"name": TEXT, "count": COUNT, "asked": COUNT, "flavors": map_of(TEXT), "resourceUsage": map_of(_AMOUNT)},
    {"topology": {"description": "Its domains in a topology, if it has any.", **_PLACES}},
)
_JOB = object_of({"kind": TEXT, "namespace": TEXT, "name": TEXT}, {"workload": TEXT})
_RUNNING: Schema = {
    "job": _ref("job"),
    "clusterQueue": TEXT,
    "admitted": YES,
    "podSets": list_of(_ref("podSet")),
    "waitsForChecks": list_of(TEXT),
}
_SENTENCE: Schema = {"description": "What it waits for and what helps, for its owner.", **TEXT}
_WAITING: Schema = {"job": _ref("job"), "sentence": _SENTENCE, "reason": TEXT, "message": TEXT}
_WAITING_MORE: Schema = {
    "notBefore": {"description": "The end of its backoff.", "type": ["integer", "string"]},
    "behind": _ref("job"),
    "behindAnother": {"description": "It is behind a workload that the caller may not read.", "const": True},
    "cause": {"description": "What it waits for, in a few words.", **TEXT},
    "clusterQueue": TEXT,
    "position": {"description": "Counted from 1; null if it has none.", "type": ["integer", "null"]},
    "ahead": {
        "description": "The workloads ahead of it in its ClusterQueue: some that the caller may read, and the number of"
        " others. Absent for the first.",
        **object_of({"workloads": list_of(_ref("job")), "others": COUNT}),
    },
    "setAside": {"description": "Inadmissible until something changes.", **YES},
    "lacks": list_of(_ref("lack")),
    "remedy": {
        "description": "The nominalQuota that would be enough if only that were raised, and the difference. Absent if"
        " more than one change is needed, or a change of something else than quota.",
        **object_of(
            {"clusterQueue": TEXT, "flavor": TEXT, "resource": TEXT, "from": _AMOUNT, "to": _AMOUNT, "more": _AMOUNT}
        ),
    },
    "domains": {
        "description": "Shortages in topologies. If several domains are too small, the one with the most room.",
        **list_of(_SHORT_DOMAIN),
    },
    "others": {"description": "Further reasons as sentences.", **list_of(TEXT)},
    "leaving": {"description": "The workloads that are being preempted for it.", **list_of(_ref("job"))},
    "leavingElsewhere": COUNT,
}
_PLACEMENT = object_of(
    {
        "check": TEXT,
        "state": TEXT,
        "message": TEXT,
        "nominated": list_of(TEXT),
        "cluster": {"type": ["string", "null"]},
    },
    {"refused": list_of(object_of({"cluster": TEXT, "reason": TEXT, "message": TEXT}))},
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
    return {f"docs/schemas/{name}.schema.json": as_json(schema, 2) for name, schema in found.items()}


def _job_states() -> Schema:
    workload = object_of(
        {
            "name": TEXT,
            "stands": {"description": "Whether the job uses it.", **YES},
            "pods": {"description": "Pods that use its quota.", **COUNT},
        },
        {"state": TEXT, "why": TEXT},
    )
    change = object_of({"from": TEXT, "event": TEXT, "to": TEXT}, {"at": TEXT})
    job = object_of(
        {
            **texts("kind", "namespace", "name", "uid", "state", "why"),
            "workloads": list_of(workload),
            "changes": {"description": "The last changes of its state, the oldest first.", **list_of(change)},
        },
        {
            "until": {"description": "Nothing is concluded before.", **TEXT},
            "waitsSince": {"description": "How long it has not been shown, or not been queued.", **TEXT},
            "owner": {"description": "The job that controls it.", **TEXT},
        },
    )
    head = {"apiVersion": {"const": "quotree.dev/v1alpha1"}, "kind": {"const": "JobStates"}}
    title = "Output of quotree why --trace, and of /v1/jobs/NAMESPACE/NAME"
    return _document("job-states", title, "JobStates", object_of({**head, "items": list_of(job)}), {})


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
    root = object_of({"kind": TEXT, "name": TEXT})
    any_root: Schema = {"anyOf": [{"type": "null"}, root]}
    dialect: Schema = {"enum": ["kueue", "volcano", "yunikorn"]}
    item = object_of(
        {
            "rule": TEXT,
            "severity": {"enum": ["error", "warning", "info"]},
            "dialect": dialect,
            "root": {"description": "The root of the object's tree; null if it is in no tree.", **any_root},
            "object": object_of({"kind": TEXT, "namespace": TEXT, "name": TEXT}),
            "field": TEXT,
            "message": TEXT,
            "fingerprint": {"description": "The same from one audit to the next.", **TEXT},
        },
        {"fix": TEXT},
    )
    counts = dict.fromkeys(("findings", "errors", "warnings"), COUNT)
    tree = object_of({"root": root, "dialect": dialect, **counts})
    fields: Schema = {
        "apiVersion": True,
        "kind": True,
        "judged": {"type": "string", "format": "date-time"},
        "items": list_of(item),
        "roots": {
            "description": "The trees with the numbers of all findings, including those on other pages.",
            **list_of(tree),
        },
        "baselined": {
            "description": "The number of findings that are left out because the baseline has them.",
            **COUNT,
        },
        "notEvaluated": list_of(object_of({"rule": TEXT, "reason": TEXT})),
    }
    return _document("finding-list", "Findings of an audit by quotree", "FindingList", object_of(fields), {})


def _diagnosis() -> Schema:
    state = ["ok", "warning", "failure", "skipped"]
    result = object_of(
        {
            "id": {"description": "The id of the check. It never changes.", "type": "string", "pattern": "^[a-z-]+$"},
            "state": {"description": "skipped: it could not run, for the reason in the message.", "enum": state},
            "subject": {"description": "The object that the result is about; empty for the cluster.", **TEXT},
            "message": TEXT,
            "fix": {"description": "What to do. Warnings and failures have a fix.", **TEXT},
        }
    )
    fields: Schema = {
        "context": object_of({"name": {"description": "Empty for the current context.", **TEXT}, "server": TEXT}),
        "summary": object_of(dict.fromkeys(state, COUNT)),
        "checks": list_of(result),
    }
    return _whole("diagnosis", "Output of quotree doctor", "Diagnosis", fields, {})


def _pending_pods() -> Schema:
    fields = {"items": list_of({"anyOf": [yunikorn.waiting_pod(), volcano.waiting_pod()]})}
    return _whole("pending-pods", "The lists of Pods at the gate at /v1", "PendingPods", fields, {})


def _explanation() -> Schema:
    states = {
        "waiting": (_WAITING, _WAITING_MORE),
        "running": (_RUNNING, {"sentence": _SENTENCE}),
        "finished": ({"job": _ref("job")}, {}),
        "beingAdmitted": ({"job": _ref("job")}, {}),
        "inNoQueue": ({"job": _ref("job"), "reason": TEXT}, {}),
        "atGate": ({"job": _ref("job"), "reason": TEXT}, {}),
    }
    head: Schema = {"apiVersion": True, "kind": True}
    trace: Schema = {
        "description": "The trace id in log lines, Events and traces about the workload. Only in a cluster.",
        "type": "string",
        "pattern": "^[0-9a-f]{32}$",
    }
    also: Schema = {"placement": _ref("placement"), "trace": trace}
    either = [
        object_of({**head, "state": {"const": state}, **required}, {**optional, **also})
        for state, (required, optional) in states.items()
    ]
    title = "Output of quotree why, and of /v1/workloads/NAMESPACE/NAME/explanation"
    return _document("explanation", title, "Explanation", {"oneOf": either}, {**_WORK, "placement": _PLACEMENT})


def _simulation() -> Schema:
    place: Schema = {"file": TEXT, "line": COUNT, "column": COUNT}
    named = {"kind": TEXT, "namespace": TEXT, "name": TEXT}
    fields: Schema = {
        "start": {"type": "string", "format": "date-time"},
        "seconds": {"description": "The duration of the simulation, in simulated seconds.", **COUNT},
        "settled": {"description": "Whether the simulation ended because nothing changed any more.", **YES},
        "fairSharing": YES,
        "assumptions": list_of(TEXT),
        "happened": list_of(_ref("event")),
        "running": list_of(object_of(_RUNNING)),
        "waiting": list_of(object_of(_WAITING, _WAITING_MORE)),
        "finished": list_of(_ref("job")),
        "inNoQueue": list_of(object_of({**named, "reason": TEXT})),
        "nodes": list_of(_ref("node")),
        "cycles": list_of(list_of(TEXT)),
        "unreadable": list_of(object_of({**place, "message": TEXT})),
    }
    parts = {**_WORK, "event": _event(), "node": _node()}
    problems = {"description": "What the simulations of Volcano and YuniKorn left out, and why.", **list_of(TEXT)}
    others = {"problems": problems, "volcano": volcano.simulation(), "yunikorn": yunikorn.simulation()}
    return _whole("simulation", "Output of quotree simulate", "Simulation", fields, parts, others)


def _whole(
    name: str, title: str, kind: str, required: Schema, definitions: Schema, optional: Schema | None = None
) -> Schema:
    """The schema of a whole document, with its `required` and `optional` fields."""
    document = _document(name, title, kind, {}, definitions)
    body = object_of(document["properties"] | required, optional)
    return {**document, "properties": body.pop("properties"), **body}


def _event() -> Schema:
    loan = object_of({"flavor": TEXT, "resource": TEXT, "amount": _AMOUNT, "from": TEXT})
    return object_of(
        {"what": {"enum": ["played", "reserved", "admitted", "preempted", "evicted", "finished"]}, "at": COUNT},
        {
            "event": {"description": "As on the command line.", **TEXT},
            "job": _ref("job"),
            "clusterQueue": TEXT,
            "reason": TEXT,
            "message": TEXT,
            "for": {"description": "The preemptor.", **_ref("job")},
            "forQueue": TEXT,
            "podSets": list_of(_ref("podSet")),
            "borrowed": list_of(loan),
            "waitsForChecks": list_of(TEXT),
        },
    )


def _node() -> Schema:
    row = object_of(
        {
            "flavor": {"description": "Empty if the dialect has no flavors.", **TEXT},
            "resource": TEXT,
            "own": {"description": "Limits by their name in the manifest, and usage.", **map_of(_AMOUNT)},
            "children": {"description": "The same, summed over the children.", **map_of(_AMOUNT)},
        }
    )
    return object_of(
        {
            "dialect": {"enum": ["Kueue", "Volcano", "YuniKorn"]},
            "kind": TEXT,
            "name": TEXT,
            "parent": {"type": ["string", "null"]},
            "quota": list_of(row),
        },
        {
            "root": {"description": "The folder or file of its root, if the files have several roots.", **TEXT},
            "exists": {"description": "False for an implicit Cohort.", **YES},
            "state": {"description": "Only in /v1/volcano/tree: the state of the Queue.", **TEXT},
            "stopPolicy": {"description": "Only in /v1/tree: the stopPolicy of a stopped ClusterQueue.", **TEXT},
            "inactive": {"description": "Only in /v1/tree: why the ClusterQueue admits nothing.", **TEXT},
            "oldestPending": {
                "description": "Only in /v1/tree: since when the ClusterQueue's oldest pending workload waits.",
                "type": "string",
                "format": "date-time",
            },
            "children": list_of(TEXT),
            "workloads": object_of({"pending": COUNT, "reserving": COUNT, "admitted": COUNT}),
            "podGroups": {"description": "The PodGroups of the queue and its descendants, by phase.", **map_of(COUNT)},
            "applications": object_of({"running": COUNT, "waiting": COUNT}),
        },
    )


def _tree() -> Schema:
    fields: Schema = {
        "context": object_of({"against": {"enum": ["nothing", "files", "cluster", "snapshot"]}, "name": TEXT}),
        "nodes": list_of(_ref("node")),
        "cycles": list_of(list_of(TEXT)),
        "onCycles": {"description": "Only in /v1/tree: the Cohorts on cycles.", **list_of(TEXT)},
    }
    document = _document("tree", "Output of quotree tree, and of the trees at /v1", "Tree", {}, {"node": _node()})
    document["properties"] |= fields
    return {**document, "type": "object", "additionalProperties": False, "required": ["apiVersion", "kind", "nodes"]}
