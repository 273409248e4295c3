from __future__ import annotations

from collections.abc import Iterator

from policies.dialects.labels import is_domain
from policies.dialects.reading import listing, mapping
from policies.dialects.volcano import JOB, VolcanoJob
from policies.dialects.volcano_job import Policy, Volume
from policies.judging.rule import Proposal, rule
from policies.model.findings import BOTH, STRICT_ONLY, Action, Finding, Profile
from policies.model.quantity import Quantity

PLUGINS = ("env", "hcclrank", "mpi", "pytorch", "ray", "ssh", "svc", "tensorflow")
EVENTS = ("*", "PodFailed", "PodEvicted", "PodPending", "Unknown", "TaskCompleted", "TaskFailed", "JobUpdated")
ACTIONS = (
    "AbortJob",
    "RestartJob",
    "RestartTask",
    "RestartPod",
    "RestartPartition",
    "TerminateJob",
    "CompleteJob",
    "ResumeJob",
)

_LONGEST = 63
_ONE = 10**9  # nano units of one CPU


@rule("job-contradiction", source="Volcano's webhook jobs/validate", kinds=(JOB,))
def job_contradiction(proposal: Proposal) -> Iterator[Finding]:
    """A Volcano Job contradicts itself, or lacks something without which it cannot run.

    Why it is refused: Volcano would have to guess, or the Job would fail while it runs. A Job needs tasks with
    different names. The names of its pods, which consist of Job, task and number, have at most 63 characters. All
    partitions of a task together have exactly its replicas, and its minPartitions together its minAvailable. A policy
    names events or one exit code, none of them twice, and an action that users may choose. Each volume has another
    mount path, and either a claim or the name of a claim. With a topologyPolicy, each container of a task requests
    whole CPUs. The plugin mpi needs a master and a worker task. A plugin
    that Volcano does not include gets a warning, since your build may have it. Of a Job that changes, only the
    partitions are judged.
    Example: two tasks named `worker`; `policies: [{event: PodFailed, exitCode: 3, action: RestartJob}]`.
    Fix: change what the message names.
    """
    for before, job in proposal.changed(VolcanoJob):
        yield from _partitions(job, is_new=before is None)
        if before is None:
            yield from _tasks(job)
            yield from _names(job)
            yield from _cpus(job)
            for policies in job.spec.policies:
                yield from _policies(job, policies)
            yield from _volumes(job)
            yield from _plugins(job, Action.WARN if proposal.configuration.profile is Profile.STRICT else None)


def _tasks(job: VolcanoJob) -> Iterator[Finding]:
    if not job.spec.tasks:
        yield Finding(job.ref, "spec.tasks", "it has no task", fix="give it at least one task")
    seen: set[str] = set()
    for task in job.spec.tasks:
        if task.name in seen:
            where = f"{task.field}.name"
            yield Finding(job.ref, where, f"a second task is named {task.name}", fix="give each task its own name")
        seen.add(task.name)


def _names(job: VolcanoJob) -> Iterator[Finding]:
    name = job.ref.name
    if job.ref.is_generated:
        return
    if len(name) > _LONGEST:
        message = f"it has {len(name)} characters, and Volcano allows {_LONGEST}"
        yield Finding(job.ref, "metadata.name", message, fix="shorten it")
        return
    for index, task in enumerate(job.spec.tasks):
        pod = f"{name}-{task.name}-{index}"
        if len(pod) > _LONGEST:
            message = (
                f"its pods would be named {pod} and so on, with more than the {_LONGEST} characters that Volcano allows"
            )
            fix = "shorten the name of the Job or of the task"
            yield Finding(job.ref, f"{task.field}.name", message, fix=fix)


def _partitions(job: VolcanoJob, *, is_new: bool) -> Iterator[Finding]:
    """The tasks whose numbers of pods do not fit their partitions. Only a new Job can have other partitions."""
    for task in job.spec.tasks:
        if (parts := task.partitions) is None:
            continue
        made, least = parts.total * parts.size, parts.minimum * parts.size
        if made != task.replicas:
            others = f", or choose partitions that hold {task.replicas} pods in all" if is_new else ""
            yield Finding(
                job.ref,
                f"{task.field}.partitionPolicy",
                f"{parts.total} partitions of {parts.size} pods make {made}, but task {task.name} has "
                f"{task.replicas} pods",
                fix=f"set its replicas to {made}{others}",
                excess=abs(made - task.replicas),
            )
        elif least > 0 and task.needed != least:
            yield Finding(
                job.ref,
                f"{task.field}.minAvailable",
                f"{parts.minimum} partitions of {parts.size} pods make {least}, but minAvailable of task {task.name}"
                f" is {task.needed}",
                fix=f"set minAvailable to {least}, or leave it out",
                excess=abs(least - task.needed),
            )


def _cpus(job: VolcanoJob) -> Iterator[Finding]:
    """The containers without whole CPUs in tasks whose policy gives them CPUs of one NUMA node."""
    for task in job.spec.tasks:
        for part in ("containers", "initContainers") if task.numa else ():
            for i, container in enumerate(map(mapping, listing(task.pod.get(part)))):
                resources = mapping(container.get("resources"))
                cpu = Quantity.read((mapping(resources.get("requests")) or mapping(resources.get("limits"))).get("cpu"))
                if cpu is None or cpu <= Quantity.ZERO or cpu.nano % _ONE:
                    yield Finding(
                        job.ref,
                        f"{task.field}.template.spec.{part}[{i}].resources.requests.cpu",
                        f"the topologyPolicy {task.numa} of task {task.name} needs whole CPUs, but this container "
                        f"requests {cpu.text if cpu else 'none'}",
                        fix="request 1 or more whole CPUs, or remove the topologyPolicy",
                    )


def _policies(job: VolcanoJob, policies: tuple[Policy, ...]) -> Iterator[Finding]:
    events: set[str] = set()
    codes: set[int] = set()
    for policy in policies:
        for message, fix in _policy(policy, events, codes):
            yield Finding(job.ref, policy.field, message, fix=fix, subject=message)
        events.update(policy.events)
        codes.update(() if policy.exit_code is None else (policy.exit_code,))
    if "*" in events and len(events) > 1:
        yield Finding(
            job.ref,
            policies[0].field.rpartition("[")[0],
            "the event * covers every event, so no other event may be named with it",
            fix="name only *, or the events one by one",
        )


def _policy(policy: Policy, events: set[str], codes: set[int]) -> Iterator[tuple[str, str]]:
    """The faults of a policy, each with its fix. `events`, `codes`: those of the policies before it."""
    if policy.events and policy.exit_code is not None:
        yield "it names an event and an exit code", "split it into two policies"
    elif not policy.events and policy.exit_code is None:
        yield "it names neither an event nor an exit code", "name the event or the exit code that it is for"
    elif policy.exit_code == 0:
        yield "an exit code of 0 is not a failure", "name another exit code, or the event TaskCompleted"
    elif policy.exit_code in codes:
        yield f"an earlier policy has the exit code {policy.exit_code} too", "keep one of the two"
    for event in policy.events:
        if event not in EVENTS:
            yield f"{event!r} is not an event that a policy may name", f"name one of {', '.join(EVENTS)}"
        elif event in events:
            yield f"an earlier policy has the event {event} too", "keep one of the two"
    if policy.events and policy.action not in ACTIONS:
        yield f"{policy.action!r} is not an action that a policy may name", f"name one of {', '.join(ACTIONS)}"


def _volumes(job: VolcanoJob) -> Iterator[Finding]:
    seen: set[str] = set()
    for volume in job.spec.volumes:
        for message, fix in _volume(volume, seen):
            yield Finding(job.ref, volume.field, message, fix=fix, subject=message)
        seen.add(volume.mount_path)


def _volume(volume: Volume, seen: set[str]) -> Iterator[tuple[str, str]]:
    if not volume.mount_path:
        yield "it has no mountPath", "write its mountPath"
    elif volume.mount_path in seen:
        yield f"a second volume is mounted at {volume.mount_path}", "mount each volume at its own path"
    if volume.has_claim and volume.claim_name:
        yield "it has a volumeClaim and a volumeClaimName", "name an existing claim, or describe a new one, not both"
    elif not volume.has_claim and not volume.claim_name:
        yield "it has neither a volumeClaim nor a volumeClaimName", "name an existing claim, or describe a new one"
    elif volume.claim_name and not is_domain(volume.claim_name):
        yield f"{volume.claim_name!r} is not a valid name of a claim", "use lower-case letters, digits, `-` and `.`"


def _plugins(job: VolcanoJob, action: Action | None) -> Iterator[Finding]:
    names = [task.name for task in job.spec.tasks]
    for role, name in zip(("master", "worker"), job.spec.mpi, strict=False):
        if name not in names:
            yield Finding(
                job.ref,
                "spec.plugins.mpi",
                f"the plugin mpi uses task {name} as its {role}, but the Job does not have that task",
                fix=f"name a task {name}, or write --{role}= with the name of one: {', '.join(names) or 'none yet'}",
                subject=role,
                profiles=BOTH if role == "master" else STRICT_ONLY,  # Volcano looks for the master only
            )
    for plugin in job.spec.plugins:
        if plugin not in PLUGINS:
            yield Finding(
                job.ref,
                "spec.plugins",
                f"Volcano has no job plugin named {plugin!r}",
                fix=f"name one of {', '.join(PLUGINS)}, unless your Volcano has one of that name",
                subject=plugin,
                action=action,
            )
