"""Finds settings that YuniKorn accepts and ignores.

These are properties of queues, names in ACLs and filters, resource types that no pod requests, and a max without
effect.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from policies.dialects.go_values import read_duration, read_integer
from policies.dialects.resource_names import is_requested, likely_name
from policies.dialects.yunikorn import VCORE
from policies.dialects.yunikorn_config import acl
from policies.dialects.yunikorn_config.checking import throughout
from policies.dialects.yunikorn_config.model import (
    ROOT,
    Config,
    ConfiguredQueue,
    Partition,
    Problem,
    Resources,
    Text,
    amounts,
)
from policies.dialects.yunikorn_config.placement_checks import DENY, passed_over
from policies.dialects.yunikorn_config.quotas import whole, written_text
from policies.model.suggestion import certain, choice, close, only

QUOTA_DELAY = "quota.preemption.delay"
RESOLVERS = ("", "os", "ldap", "test")


def _not_negative(text: str) -> bool:
    found = read_duration(text)
    return found is not None and found >= 0


def _positive(text: str) -> bool:
    return (read_duration(text) or 0) > 0


def _is_unsigned(text: str) -> bool:
    number = re.fullmatch(r"0*([0-9]{1,20})", text)
    return number is not None and int(number[1]) < 2**64


def _is_offset(text: str) -> bool:
    return read_integer(text, 32) is not None


def _among(*values: str) -> Callable[[str], bool]:
    return lambda text: text in values


def _in_any_case(*values: str) -> Callable[[str], bool]:
    return lambda text: text.lower() in values


PROPERTIES: Mapping[str, tuple[Callable[[str], bool], str, str]] = {
    "application.sort.policy": (_among("fifo", "fair", "stateaware"), "fifo or fair", "fifo"),
    "application.sort.priority": (_in_any_case("enabled", "disabled"), "enabled or disabled", "enabled"),
    "application.unschedasks.backoff": (_is_unsigned, "a whole number of 0 or more", "0, which is off"),
    "application.unschedasks.backoff.delay": (_positive, "a duration such as 30s", "30s"),
    "priority.policy": (_in_any_case("default", "fence"), "default or fence", "default"),
    "priority.offset": (_is_offset, "a 32-bit whole number", "0"),
    "preemption.policy": (_in_any_case("default", "fence", "disabled"), "default, fence or disabled", "default"),
    "preemption.delay": (_positive, "a duration such as 30s", "30s"),
    QUOTA_DELAY: (_not_negative, "a duration such as 30s", "0, which is off"),
}
"""The known settings: a test for valid values, a description of them, and the value that YuniKorn uses otherwise."""


def ignored(config: Config) -> Iterator[Problem]:
    """All settings without effect. YuniKorn refuses none of them."""
    for partition in config.partitions:
        if partition.root is None:
            continue
        yield from _partition(partition)
        yield from throughout(
            partition.root, _ignored_of if partition.quota_preemption else _ignored_without_preemption
        )


def _ignored_of(queue: ConfiguredQueue) -> Iterator[Problem]:
    yield from _properties(queue.properties, queue.path)
    if queue.template is not None:
        yield from _properties(queue.template.properties, f"the child template of {queue.path}")
    yield from _acls(queue)
    for declared, whose in queue.declared():
        yield from _unrequested(declared, whose)


def _ignored_without_preemption(queue: ConfiguredQueue) -> Iterator[Problem]:
    """Settings without effect because the partition does not preempt for quota."""
    yield from _ignored_of(queue)
    yield from _quota_delay(queue)


def _problem(at: Text, message: str, fix: str, subject: str) -> Problem:
    return Problem(at.field, at.line, message, fix, subject, accepted=True)


def _partition(partition: Partition) -> Iterator[Problem]:
    if partition.resolver.text not in RESOLVERS:
        message = f"{partition.resolver.text!r} is not a user group resolver: YuniKorn uses none"
        fix, meant = choice(partition.resolver.text, [each for each in RESOLVERS if each])
        yield replace(_problem(partition.resolver, message, fix, "resolver"), write=meant)
    if (
        partition.root is not None and "queues" not in partition.root.field
    ):  # the text has no root, so YuniKorn adds one
        for queue in partition.root.queues:
            if only(queue.name, [ROOT]):
                message = f"the queue {queue.name} is below a root that YuniKorn adds: only root itself is the root"
                name = Text(queue.name, queue.at("name"), queue.line)
                yield replace(_problem(name, message, "did you mean root?", queue.path), write=ROOT)
    for top in partition.rules:
        for rule in top.chain():
            written = rule.filter.type
            if written.text != DENY and written.text.lower() == DENY:
                message = f"YuniKorn accepts the filter type {written.text!r}, but the filter then allows"
                yield replace(_problem(written, message, f"write {DENY}", "filter type"), write=DENY)
            for name in passed_over(rule.filter):
                message = f"{name.text!r} is not a name, and a list of several holds no patterns: it has no effect"
                yield _problem(name, message, "remove it, or make it the only entry", name.text)


def _properties(properties: Mapping[str, Text], whose: str) -> Iterator[Problem]:
    for key, value in properties.items():
        known = PROPERTIES.get(key)
        if known is None:
            near, meant = close(key, PROPERTIES, cutoff=0.8), certain(key, PROPERTIES)
            fix = f"write {near!r}" if near else "remove it"
            message = f"{whose} has the property {key!r}, which YuniKorn does not know"
            unknown = _problem(value, message, fix, f"{whose} {key}")
            yield replace(unknown, rename=meant if meant not in properties else "")
        elif not known[0](value.text):
            message = f"{key} of {whose} is {value.text!r}, which YuniKorn does not understand: it uses {known[2]}"
            wrong = _problem(value, message, f"write {known[1]}", f"{whose} {key}")
            words = [word for word in known[1].replace(",", "").split() if known[0](word)]
            yield replace(wrong, write=certain(value.text, words) or None)


def _acls(queue: ConfiguredQueue) -> Iterator[Problem]:
    for key, declared in (("adminacl", queue.admin_acl), ("submitacl", queue.submit_acl)):
        try:
            dropped = acl.load(declared.text).dropped
        except acl.BadAcl:
            continue
        for name in dropped:
            message = f"{key} of {queue.path} names {name!r}, which YuniKorn ignores: no name has such characters"
            yield _problem(declared, message, "use a name of letters, digits, _ and - (users also . and @)", name)


def _quota_delay(queue: ConfiguredQueue) -> Iterator[Problem]:
    delay = queue.properties.get(QUOTA_DELAY)
    if delay and _positive(delay.text):
        message = f"{QUOTA_DELAY} of {queue.path} has no effect: the partition does not preempt for quota"
        fix = "set preemption.quotapreemptionenabled of the partition to true"
        yield _problem(delay, message, fix, f"{queue.path} off")


# -- quota without effect ----------------------------------------------------------------------------------------------


def quota_without_effect(config: Config) -> Iterator[Problem]:
    """Quota without effect: a max of only zeros, amounts of a second `root`, and types that no pod requests."""
    for root in config.roots:
        yield from throughout(root, _quota_without_effect_of)


def _quota_without_effect_of(queue: ConfiguredQueue) -> Iterator[Problem]:
    yield from _of_second_root(queue)
    yield from _nothing_but_zeros(queue.maximum, queue.path)
    if queue.template is not None:
        yield from _nothing_but_zeros(queue.template.maximum, f"the child template of {queue.path}")
    for declared, whose in queue.declared():
        yield from _cpu(declared, whose)


def _of_second_root(queue: ConfiguredQueue) -> Iterator[Problem]:
    """Amounts of a queue `root` below the root, for which YuniKorn loads none."""
    if queue.name.lower() == ROOT != queue.path.lower():
        for declared, key in ((queue.guaranteed, "guaranteed"), (queue.maximum, "max")):
            for amount in [*(declared or {}).values()][:1]:
                message = f"YuniKorn ignores {key} of {queue.path}: it loads no amounts for a queue that is named root"
                problem = _problem(amount.written, message, "give the queue another name", f"{queue.path} {key} root")
                yield replace(problem, concerns=(queue.at("name"),))


def _nothing_but_zeros(maximum: Resources | None, whose: str) -> Iterator[Problem]:
    declared = amounts(maximum)
    if declared and maximum and len(declared) == len(maximum) and not any(declared.values()):
        name = next(iter(maximum))
        several = ", ".join(f"{name}={written_text(maximum, name)}" for name in maximum)
        message = f"max of {whose} is {several}; YuniKorn drops a max of only zeros, so the queue has no limit"
        fix = "set maxapplications or an ACL to keep work out, or write one type above 0"
        yield replace(_problem(maximum[name].written, message, fix, f"{whose} zero"), concerns=whole(maximum, name))


def _cpu(resources: Resources | None, whose: str) -> Iterator[Problem]:
    """Types with Kubernetes' name or a wrong spelling, where YuniKorn has vcore or memory."""
    for name, amount in (resources or {}).items():
        if _is_vcore(name):
            message = f"{whose} names {name}={amount.written.text}; YuniKorn calls it vcore, and no pod requests {name}"
            spelled, fix = VCORE, f"write `vcore: {amount.written.text}`"
        elif name != "memory" and name.lower() == "memory":
            message = f"{whose} names {name}, which no pod requests: it is spelled memory"
            spelled, fix = "memory", f"write `memory: {amount.written.text}`"
        else:
            continue
        problem = _problem(amount.written, message, fix, f"{whose} {name}")
        yield replace(problem, rename=spelled if spelled not in (resources or {}) else "")


def _is_vcore(name: str) -> bool:
    return name.lower() in ("cpu", "cpus", "vcores", "vcpu") or (name.lower() == VCORE and name != VCORE)


def _unrequested(resources: Resources | None, whose: str) -> Iterator[Problem]:
    """Types that no pod requests, except for other spellings of vcore and memory."""
    for name, amount in (resources or {}).items():
        if name == VCORE or _is_vcore(name) or name.lower() == "memory":
            continue
        means = likely_name(name).replace("cpu", VCORE) or only(name, [VCORE])
        if not is_requested(name):
            fix = f"did you mean {means}?" if means else "write a name that pods use, such as vcore or nvidia.com/gpu"
            problem = _problem(amount.written, f"{whose} names {name}, which no pod requests", fix, f"{whose} {name}")
            yield replace(problem, rename=means if means not in (resources or {}) else "")
        elif "/" in means:
            message = f"{whose} names {name}, which is nearly {means}"
            problem = _problem(amount.written, message, f"did you mean {means}?", f"{whose} {name}")
            yield replace(problem, rename=means if means not in (resources or {}) else "")
