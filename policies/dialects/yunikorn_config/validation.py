"""The whole validation of YuniKorn, as its endpoint `validate-conf` does it, but with all faults at once.

Some faults pass it, but make the load fail.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from policies.dialects.yunikorn_config import acl, limits, placement_checks, quotas
from policies.dialects.yunikorn_config.checking import throughout
from policies.dialects.yunikorn_config.model import RECOVERY, ROOT, Config, ConfiguredQueue, Partition, Problem
from policies.dialects.yunikorn_config.structure import bad_amounts, structure

OUTCOME = "YuniKorn's validation accepts it, but the load fails: the old tree stays, and after a restart there is none"


def problems(config: Config) -> Iterator[Problem]:
    yield from structure(config)
    for partition in config.partitions:
        yield from placement_checks.placement_rules(partition)
        yield from limits.partition_limits(partition)
        root = partition.root
        if root is None:
            continue
        yield from quotas.guaranteed_above_max(root)
        yield from quotas.max_above_parent(root)
        yield from quotas.guaranteed_above_queue(root)
        yield from quotas.applications_above_queue(root)
        yield from throughout(root, limits.limits_exceeding_queue)
        yield from limits.limits_exceeding_ancestor(root)


def refusals(config: Config) -> list[Problem]:
    """The problems that make YuniKorn refuse the text. YuniKorn itself reports only the first one."""
    return [problem for problem in problems(config) if not problem.accepted]


def unusable(config: Config) -> Iterator[Problem]:
    """The problems with which YuniKorn does not load the text, including those that its validation does not find."""
    yield from refusals(config)
    yield from load_failures(config)
    for partition in config.partitions:
        yield from placement_checks.unusable_rules(partition)


def load_failures(config: Config) -> Iterator[Problem]:
    for partition in config.partitions:
        if partition.root is None:
            continue
        yield from _root_name(partition, partition.root)
        yield from throughout(partition.root, _load_failures_of)


def _load_failures_of(queue: ConfiguredQueue) -> Iterator[Problem]:
    yield from _acls(queue)
    yield from _template(queue)


def _root_name(partition: Partition, root: ConfiguredQueue) -> Iterator[Problem]:
    if root.name != ROOT:
        message = f"the root is written {root.name!r}; {OUTCOME}"
        yield Problem(root.at("name"), root.line, message, "write it in lower case", partition.called, accepted=True)
    for queue in root.queues:
        if queue.name.lower() == RECOVERY:
            message = f"{queue.path} is YuniKorn's own queue for recovery; {OUTCOME}"
            yield Problem(queue.at("name"), queue.line, message, "use another name", queue.path, accepted=True)


def _acls(queue: ConfiguredQueue) -> Iterator[Problem]:
    for key, declared in (("adminacl", queue.admin_acl), ("submitacl", queue.submit_acl)):
        if not acl.passes_check(declared.text):
            continue
        try:
            acl.load(declared.text)
        except acl.BadAcl as error:
            fix = f"write {' '.join(declared.text.split())!r}, or with a space before it if these are groups"
            message = f"{key} of {queue.path} {error}, and YuniKorn splits at every single space; {OUTCOME}"
            yield Problem(declared.field, declared.line, message, fix, f"{queue.path} {key}", accepted=True)


def _template(queue: ConfiguredQueue) -> Iterator[Problem]:
    template = queue.template
    if template is None or queue.is_leaf:  # YuniKorn does not read the template of a leaf
        return
    for key, declared in (("guaranteed", template.guaranteed), ("max", template.maximum)):
        whose = f"{key} of the child template of {queue.path}"
        for problem in bad_amounts(declared, whose, f"{queue.path} template {key}"):
            message = f"{problem.message}; {OUTCOME}"
            yield replace(problem, message=message, accepted=True)
