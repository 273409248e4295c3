"""Renders explanations as text: why work waits, or which quota it uses.

The input is JSON from `analysis.why`, from `scheduling.visibility.as_json`, or from a reconciler, which leaves out what
the caller may not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from cli.output import first_of, some
from policies.model.printing import plain
from scheduling.objects.times import after
from scheduling.visibility.as_json import pod_set_json
from scheduling.visibility.pod_sets import AdmittedPodSet
from scheduling.visibility.raising import BORROWING_LIMIT

Found: TypeAlias = Mapping[str, Any]

_MOST_NAMES = 3
"""The most Pods that are named for one cause."""


def job_text(job: Found) -> str:
    return f"{job['kind']} {job['namespace']}/{job['name']}"


def waiting_lines(found: Found) -> Iterator[str]:
    """Why a workload waits; then, indented, Kueue's message, its position, and the quota that it lacks."""
    said = found.get("sentence") or f"{found['reason']}: {found['message']}"  # an older reconciler has none
    yield plain(f"{job_text(found['job'])}: {said}")
    where = f"in {found['clusterQueue']}, number {found['position']}: " if found.get("clusterQueue") else ""
    yield plain(f"    {where}{found['reason']}: {found['message']}")
    if found.get("notBefore"):
        yield plain(f"    not before {_moment(found['notBefore'])}")
    if found.get("behind") or found.get("behindAnother"):
        head = job_text(found["behind"]) if found.get("behind") else "work of another namespace"
        yield plain(f"    behind {head}, which no workload may overtake")
    if "ahead" in found:
        yield plain(f"    ahead of it: {_ahead(found['ahead'])}")
    for lack in found.get("lacks", ()):
        yield from (f"    {plain(line)}" for line in _lack_lines(lack))
    yield from (f"    {plain(line)}" for line in _leaving_lines(found))


def _moment(found: str | int) -> str:
    """A time; in a simulation, a number of seconds."""
    return found if isinstance(found, str) else after(found)


def _ahead(ahead: Found) -> str:
    return _names_and_count([job_text(each) for each in ahead["workloads"]], ahead["others"], "other workload")


def _names_and_count(named: list[str], others: int, word: str) -> str:
    return ", ".join([*named, *([some(others, word)] if others else [])])


def _lack_lines(lack: Found) -> Iterator[str]:
    pair, free = f"{lack['flavor']}/{lack['resource']}", lack["free"]
    available = f"{free} free" if lack["ever"] else f"no more than {free} even if nothing were in use"
    yield f"{pair}: pod set {lack['podSet']} needs {lack['wanted']}, {available}"
    if lack["obstacle"] is not None:
        yield f"  {_ways_to_make_room(lack)}"
    kept = [f"{each['kind']} {each['name']} {each['amount']}" for each in lack["kept"]]
    if lack.get("keptByOthers"):
        kept.append(f"other queues {lack['keptByOthers']}")
    if kept:
        yield f"  kept back by lendingLimit: {', '.join(kept)}"
    holders = [_holding(each["clusterQueue"], each) for each in lack["holders"]]
    if more := lack.get("moreHolders"):
        holders.append(_holding(some(more["count"], "more queue"), more))
    if lack.get("heldByOthers"):
        holders.append(f"other queues {lack['heldByOthers']}")
    if holders:
        yield f"  in use by {', '.join(holders)}"


def _ways_to_make_room(lack: Found) -> str:
    """The missing amount, and each way to make room."""
    missing = lack["obstacle"]["lacking"]
    places = list(_places(lack.get("raise", ())))
    if lack.get("raiseElsewhere"):
        places.append("a limit elsewhere in its tree")
    ways = [f"raise {', or '.join(places)}"] if places else []
    if lack["ever"]:
        ways.append(f"wait until {_releasing_text(lack['obstacle'])} releases {missing}")
    elif lack["free"] != "0":
        ways.append(f"request no more than {lack['free']}")
    return f"{missing} short: {', or '.join(ways)}" if ways else f"{missing} short"


def _places(raises: Iterable[Found]) -> Iterator[str]:
    """Each limit that could be raised. A node or limit that is the same as in the previous one is not repeated."""
    node = limit = ""
    for each in raises:
        if _node(each) == node:
            which = f"its {each['limit']}"
        else:
            which = f"of {_node(each)}" if each["limit"] == limit else f"{each['limit']} of {_node(each)}"
        yield f"{which} from {each['from']} to {each['to']}"
        node, limit = _node(each), each["limit"]


def _releasing_text(obstacle: Found) -> str:
    if obstacle["limit"] == BORROWING_LIMIT:
        return f"work {'in' if obstacle['kind'] == 'ClusterQueue' else 'below'} {_node(obstacle)}"
    return f"work in {_node(obstacle)}" if obstacle["kind"] == "ClusterQueue" else "other work"


def _node(found: Found) -> str:
    return f"{found['kind']} {found['name']}"


def _holding(who: str, holder: Found) -> str:
    borrowed = f" ({holder['borrowed']} borrowed)" if holder["borrowed"] != "0" else ""
    return f"{who} {holder['used']}{borrowed}"


def _leaving_lines(found: Found) -> Iterator[str]:
    leaving = _names_and_count(
        list(map(job_text, found.get("leaving", ()))), found.get("leavingElsewhere", 0), "other workload"
    )
    if leaving:
        yield f"waits until these have stopped: {leaving}"


def running_text(found: Found) -> str:
    """A sentence with the quota of a workload that does not wait."""
    quota = "; ".join(map(_placed, found["podSets"]))
    state = "is admitted" if found["admitted"] else f"waits for AdmissionCheck {', '.join(found['waitsForChecks'])}"
    return plain(f"{job_text(found['job'])} {state} in {found['clusterQueue']}: {quota}")


def explained_lines(found: Found) -> Iterator[str]:
    """The lines about one workload, from the JSON that /v1 returns and `quotree why -o json` prints."""
    if found.get("kind") == "PodGroupExplanation":
        yield from (plain(_running_group(each)) for each in found["running"])
        yield from group_lines(found["waiting"])
    elif found.get("kind") == "ApplicationExplanation":
        yield from (plain(_running_pod(each)) for each in found["running"])
        yield from allocation_lines(found["waiting"])
    else:
        yield from _workload_lines(found)


def _workload_lines(found: Found) -> Iterator[str]:
    if found["state"] == "waiting":
        yield from waiting_lines(found)
    elif found["state"] == "running":
        yield running_text(found)
        if "sentence" in found and "placement" not in found:  # a placement has the same facts about workers
            yield plain(f"    {found['sentence']}")
        yield from (plain(f"    {_held(each)}") for each in found.get("heldPods", ()))
    elif found["state"] == "inNoQueue":
        yield plain(f"{job_text(found['job'])} is in no queue: {found['reason']}")
    elif found["state"] == "atGate":
        yield plain(f"{job_text(found['job'])} waits at its scheduling gate: {found['reason']}")
    else:
        state = "is finished" if found["state"] == "finished" else "is being admitted"
        yield plain(f"{job_text(found['job'])} {state}")
    if (placement := found.get("placement")) is not None:
        yield plain(f"    {_elsewhere(placement)}")


def _held(held: Found) -> str:
    who = f"{held['kind']} {first_of(held['names'], _MOST_NAMES)}"
    return f"{who}: {': '.join(filter(None, (held['reason'], held['message'])))}"


def _elsewhere(placement: Found) -> str:
    """A sentence about the worker cluster on which MultiKueue runs the work."""
    if placement["cluster"]:
        where = f"its worker cluster is {placement['cluster']}"
    elif placement["nominated"]:
        where = f"nominated for {', '.join(placement['nominated'])}"
    else:
        where = "nominated for no worker cluster yet"
    why = f" ({placement['message']})" if placement["message"] else ""
    return f"{where}; AdmissionCheck {placement['check']} is {placement['state']}{why}"


def placed_text(placed: AdmittedPodSet) -> str:
    """A pod set with its quota by flavor, and its domains in a topology."""
    return _placed(pod_set_json(placed))


def _placed(placed: Found) -> str:
    by_flavor: dict[str, list[str]] = {}
    for resource, flavor in placed["flavors"].items():
        amount = f"{resource}={placed['resourceUsage'].get(resource, '0')}"
        by_flavor.setdefault(flavor, []).append(amount)
    quota = ", ".join(f"{' '.join(amounts)} of {flavor}" for flavor, amounts in by_flavor.items()) or "nothing"
    count = str(placed["count"]) if placed["count"] == placed["asked"] else f"{placed['count']} of {placed['asked']}"
    domains = ", ".join(f"{each['name']}: {each['pods']}" for each in placed.get("topology", {}).get("domains", ()))
    return f"{placed['name']} x{count} {quota}{f' ({domains})' if domains else ''}"


def job_state_lines(job: Found) -> Iterator[str]:
    """The state of a job in the reconciler, the Workloads that count for it, and its last transitions."""
    yield plain(f"{job_text(job)} (uid {job['uid']}) is {job['state']}: {job['why']}")
    moments = (("until", "stays in this state until"), ("waitsSince", "not shown or not queued since"))
    yield from (plain(f"    {words} {job[key]}") for key, words in moments if key in job)
    if "owner" in job:
        yield plain(f"    belongs to {job['owner']}")
    for each in job["workloads"]:
        role = "is its Workload" if each["stands"] else "names it as an owner"
        state = f"; {each['state']}: {each['why']}" if "state" in each else ""
        yield plain(f"    {each['name']} {role}; Pods that use its quota: {each['pods']}{state}")
    for each in job["changes"]:
        yield plain(f"    {each.get('at', 'just now')}  {each['event']}: {each['from']} -> {each['to']}")


# --- Volcano


def group_lines(every: Iterable[Found]) -> Iterator[str]:
    for each in every:
        where = f" in {each['queue']} ({each['phase']})" if each["queue"] else ""
        yield plain(f"{each['for']}{where}: {_pods_waiting(each)}")
        for reason in each["reasons"]:
            of_pods = f" ({some(reason['pods'], 'Pod')})" if reason["pods"] and each["pods"] > 1 else ""
            yield f"    {plain(reason['message'])}{of_pods}"
            yield from (f"      {plain(line)}" for lack in reason["lacks"] for line in _limit_lines(lack))


def _pods_waiting(group: Found) -> str:
    if not group["pods"]:
        return "has no Pods yet"
    return "waits" if group["pods"] == 1 else f"{group['waiting']} of {group['pods']} Pods wait"


def _limit_lines(lack: Found) -> Iterator[str]:
    if lack["usedBy"]:
        held = ", ".join(f"{each['for']} {each['amount']}" for each in lack["usedBy"])
        yield f"{lack['resource']} of {lack['queue']} is used by {held}"
    if lack["limitedBy"]:
        yield f"the limit is {lack['limitedBy']}"


def _running_group(found: Found) -> str:
    return f"{some(found['pods'], 'Pod')} of {found['for']} in {found['queue']}: {_amounts(found['amounts'])} in use"


def _amounts(amounts: Mapping[str, str]) -> str:
    return " ".join(f"{name}={amount}" for name, amount in amounts.items())


# --- YuniKorn


def allocation_lines(every: Iterable[Found]) -> Iterator[str]:
    for each in every:
        where = f" in {each['queue']}" if each["queue"] else ""
        message = f": {each['message']}" if each["message"] else ""
        yield plain(f"{pod_name(each['pod'])} of {each['application']}{where}: {each['reason']}{message}")
        yield from (f"    {plain(_queue_lack(lack))}" for lack in each["lacks"])


def _queue_lack(lack: Found) -> str:
    whose = f" for {lack['whose']}" if lack["whose"] else ""
    return (
        f"{lack['queue']}{whose}: {lack['resource']}={lack['asked']} requested, "
        f"{lack['used']} of {lack['limit']} in use, {lack['short']} short"
    )


def _running_pod(found: Found) -> str:
    where = f"{pod_name(found['pod'])} of {found['application']} runs in {found['queue']}"
    return f"{where}: {_amounts(found['amounts'])}"


def pod_name(key: str) -> str:
    """The name of a Pod in messages. A placeholder of a simulated gang has no namespace."""
    return f"Pod {key}" if "/" in key else key
