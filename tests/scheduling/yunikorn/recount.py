"""What holds in YuniKorn's queues, counted from the Pods alone, with nothing of the scheduler's own sums."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from policies.dialects.yunikorn_config.model import Limit
from scheduling.yunikorn.application import Application, ApplicationState, Ask
from scheduling.yunikorn.queue import YuniKornQueue
from scheduling.yunikorn.scheduler import Scheduler

Sums = dict[str, int]


def summed(asks: Iterable[Ask]) -> Sums:
    total: Sums = {}
    for ask in asks:
        for name, amount in ask.amounts.items():
            total[name] = total.get(name, 0) + amount
    return some(total)


def some(amounts: Mapping[str, int]) -> Sums:
    return {name: amount for name, amount in amounts.items() if amount}


def inside(engine: Scheduler, queue: YuniKornQueue) -> list[Application]:
    path = queue.path
    every = engine.applications.values()
    return [each for each in every if each.leaf.path == path or each.leaf.path.startswith(f"{path}.")]


def used(engine: Scheduler, queue: YuniKornQueue) -> Sums:
    return summed(ask for each in inside(engine, queue) for ask in each.allocations.values())


def check(engine: Scheduler) -> None:
    for queue in engine.tree.queues.values():
        mine = inside(engine, queue)
        assert some(queue.allocated) == used(engine, queue), queue.path
        assert some(queue.pending) == summed(ask for each in mine for ask in each.pending.values()), queue.path
        assert queue.running == sum(each.state is ApplicationState.RUNNING for each in mine), queue.path
        assert not list(beyond(engine, queue, {})), queue.path
        assert not 0 < queue.settings.max_applications < queue.running, queue.path
    for key, use, limit in limited(engine):
        assert all(amount <= limit.get(name, amount) for name, amount in use.items()), key
    for application in engine.applications.values():
        gang = [key for key in application.pending if key not in engine.owners]
        assert not application.kept or (gang and application.placeholders is None), application.name
        for ask in application.pending.values():
            assert blocked(engine, application, ask), (ask, application.leaf.path)


def beyond(engine: Scheduler, queue: YuniKornQueue, more: Sums) -> Iterator[str]:
    """The resources of which the queue uses more than its max, with `more` on top."""
    use, most = used(engine, queue), queue.settings.maximum
    for name in use.keys() | more.keys():
        limit = (most or {}).get(name, 0 if queue.is_cluster else None)
        if limit is not None and use.get(name, 0) + more.get(name, 0) > limit and (not more or more.get(name)):
            yield name


def blocked(engine: Scheduler, application: Application, ask: Ask) -> bool:
    """Whether something keeps the ask from running."""
    path = [queue for queue in engine.tree.queues.values() if application in inside(engine, queue)]
    if any(list(beyond(engine, queue, dict(ask.amounts))) for queue in path):
        return True
    if application.state is ApplicationState.ACCEPTED:
        for queue in path:
            runs = sum(each.state is ApplicationState.RUNNING for each in inside(engine, queue))
            if 0 < queue.settings.max_applications <= runs:
                return True
    return any(
        use.get(name, 0) + amount > limit.get(name, use.get(name, 0) + amount)
        for (queue_path, user), use, limit in limited(engine)
        if user == application.user and any(queue.path == queue_path for queue in path)
        for name, amount in ask.amounts.items()
    )


def limited(engine: Scheduler) -> Iterator[tuple[tuple[str, str], Sums, Sums]]:
    """For each queue and user what the user has there, and may have."""
    users = {each.user for each in engine.applications.values() if each.user}
    for queue in engine.tree.queues.values():
        for user in sorted(users):
            limit = _limit(queue.settings.limits, user)
            if limit is not None:
                mine = [each for each in inside(engine, queue) if each.user == user]
                most = {name: amount.value or 0 for name, amount in limit.max_resources.items()}
                yield (queue.path, user), summed(ask for each in mine for ask in each.allocations.values()), most


def _limit(limits: tuple[Limit, ...], user: str) -> Limit | None:
    for name in (user, "*"):
        for limit in limits:
            if any(each.text == name for each in limit.users):
                return limit
    return None
