"""Text about pending and running workloads, for a simulation, a cluster, and the answers of a reconciler.

The input is the JSON of `scheduling.visibility.as_json`: a reconciler answers with it, and leaves out what the caller
may not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from policies.model.printing import plain
from scheduling.visibility.as_json import pod_set_json
from scheduling.visibility.pod_sets import AdmittedPodSet
from scheduling.visibility.raising import BORROWING_LIMIT

Found: TypeAlias = Mapping[str, Any]


def job_text(job: Found) -> str:
    return f"{job['kind']} {job['namespace']}/{job['name']}"


def waiting_lines(found: Found) -> Iterator[str]:
    """Why a workload waits; then, indented, Kueue's message, its position, and the quota that it lacks."""
    said = found.get("sentence") or f"{found['reason']}: {found['message']}"  # an older reconciler has none
    yield plain(f"{job_text(found['job'])}: {said}")
    where = f"in {found['clusterQueue']}, number {found['position']}: " if found.get("clusterQueue") else ""
    yield plain(f"    {where}{found['reason']}: {found['message']}")
    if found.get("notBefore"):
        yield plain(f"    not before {found['notBefore']}")
    if found.get("behind") or found.get("behindAnother"):
        head = job_text(found["behind"]) if found.get("behind") else "work of another namespace"
        yield plain(f"    behind {head}, which no workload may overtake")
    if "ahead" in found:
        yield plain(f"    ahead of it: {_ahead(found['ahead'])}")
    for lack in found.get("lacks", ()):
        yield from (f"    {plain(line)}" for line in _lack_lines(lack))
    yield from (f"    {plain(line)}" for line in _leaving(found))


def _ahead(ahead: Found) -> str:
    return _some([job_text(each) for each in ahead["workloads"]], ahead["others"], "other workload")


def _some(named: list[str], others: int, word: str) -> str:
    return ", ".join(named + ([f"{others} {word}{'' if others == 1 else 's'}"] if others else []))


def _lack_lines(lack: Found) -> Iterator[str]:
    pair, free = f"{lack['flavor']}/{lack['resource']}", lack["free"]
    available = f"{free} free" if lack["ever"] else f"no more than {free} even if nothing were in use"
    yield f"{pair}: pod set {lack['podSet']} needs {lack['wanted']}, {available}"
    if lack["obstacle"] is not None:
        yield f"  {_way_out(lack)}"
    kept = [f"{each['kind']} {each['name']} {each['amount']}" for each in lack["kept"]]
    if lack.get("keptByOthers"):
        kept.append(f"other queues {lack['keptByOthers']}")
    if kept:
        yield f"  kept back by lendingLimit: {', '.join(kept)}"
    holders = list(map(_holder, lack["holders"]))
    if lack.get("heldByOthers"):
        holders.append(f"other queues {lack['heldByOthers']}")
    if holders:
        yield f"  in use by {', '.join(holders)}"


def _way_out(lack: Found) -> str:
    """How much is short, and each way to make room."""
    missing = lack["obstacle"]["lacking"]
    places = list(_places(lack.get("raise", ())))
    if lack.get("raiseElsewhere"):
        places.append("a limit elsewhere in its tree")
    ways = [f"raise {', or '.join(places)}"] if places else []
    if lack["ever"]:
        ways.append(f"wait until {_releasing(lack['obstacle'])} releases {missing}")
    elif lack["free"] != "0":
        ways.append(f"request no more than {lack['free']}")
    return f"{missing} short: {', or '.join(ways)}" if ways else f"{missing} short"


def _places(raises: Iterable[Found]) -> Iterator[str]:
    """Each limit that could be raised. The node or limit is not repeated if it is the same as before."""
    node = limit = ""
    for each in raises:
        if _node(each) == node:
            which = f"its {each['limit']}"
        else:
            which = f"of {_node(each)}" if each["limit"] == limit else f"{each['limit']} of {_node(each)}"
        yield f"{which} from {each['from']} to {each['to']}"
        node, limit = _node(each), each["limit"]


def _releasing(obstacle: Found) -> str:
    """The work that has to release quota."""
    if obstacle["limit"] == BORROWING_LIMIT:
        return f"work {'in' if obstacle['kind'] == 'ClusterQueue' else 'below'} {_node(obstacle)}"
    return f"work in {_node(obstacle)}" if obstacle["kind"] == "ClusterQueue" else "other work"


def _node(found: Found) -> str:
    return f"{found['kind']} {found['name']}"


def _holder(holder: Found) -> str:
    borrowed = f" ({holder['borrowed']} borrowed)" if holder["borrowed"] != "0" else ""
    return f"{holder['clusterQueue']} {holder['used']}{borrowed}"


def _leaving(found: Found) -> Iterator[str]:
    leaving = _some(list(map(job_text, found.get("leaving", ()))), found.get("leavingElsewhere", 0), "other workload")
    if leaving:
        yield f"waits until these have stopped: {leaving}"


def running_text(found: Found) -> str:
    """The quota of a workload that does not wait."""
    quota = "; ".join(map(_placed, found["podSets"]))
    state = "is admitted" if found["admitted"] else f"waits for AdmissionCheck {', '.join(found['waitsForChecks'])}"
    return plain(f"{job_text(found['job'])} {state} in {found['clusterQueue']}: {quota}")


def explained_lines(found: Found) -> Iterator[str]:
    """The lines of an Explanation, which /v1 returns and `quotree why -o json` prints."""
    if found["state"] == "waiting":
        yield from waiting_lines(found)
    elif found["state"] == "running":
        yield running_text(found)
        if "sentence" in found and "placement" not in found:  # which says the same of the workers
            yield plain(f"    {found['sentence']}")
    elif found["state"] == "inNoQueue":
        yield plain(f"{job_text(found['job'])} is in no queue: {found['reason']}")
    else:
        state = "is finished" if found["state"] == "finished" else "is being admitted"
        yield plain(f"{job_text(found['job'])} {state}")
    if (placement := found.get("placement")) is not None:
        yield plain(f"    {_elsewhere(placement)}")


def _elsewhere(placement: Found) -> str:
    """Where MultiKueue runs the work."""
    if placement["cluster"]:
        where = f"its worker cluster is {placement['cluster']}"
    elif placement["nominated"]:
        where = f"nominated for {', '.join(placement['nominated'])}"
    else:
        where = "nominated for no worker cluster yet"
    why = f" ({placement['message']})" if placement["message"] else ""
    return f"{where}; AdmissionCheck {placement['check']} is {placement['state']}{why}"


def placed_text(placed: AdmittedPodSet) -> str:
    """A pod set with its quota, flavor by flavor, and its domains in a topology."""
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
    moments = (("until", "nothing is concluded before"), ("waitsSince", "not shown or not queued since"))
    yield from (plain(f"    {words} {job[key]}") for key, words in moments if key in job)
    if "owner" in job:
        yield plain(f"    belongs to {job['owner']}")
    for each in job["workloads"]:
        role = "stands for it" if each["stands"] else "names it as an owner"
        state = f"; {each['state']}: {each['why']}" if "state" in each else ""
        yield plain(f"    Workload {each['name']} {role}, {each['pods']} Pods in sight run on its quota{state}")
    for each in job["changes"]:
        yield plain(f"    {each.get('at', 'just now')}  {each['event']}: {each['from']} -> {each['to']}")
