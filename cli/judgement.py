"""All given objects judged as one change to the context."""

from __future__ import annotations

from datetime import UTC, datetime

from cli.input.context import Context
from cli.input.given import Given
from cli.input.pruning import missing
from policies.configuration.settings import Configuration
from policies.dialects.reading import Parsed
from policies.judge import Judgement, State, judge_files, stored_state
from policies.model.change import Circumstances


def judge(
    given: Given, context: Context, configuration: Configuration, *, prune: bool = False, delete: bool = False
) -> Judgement:
    """What the rules say about the given objects, as they would be stored, in place of those that the context holds.

    `prune` deletes what the context holds beyond them, `delete` deletes them.
    """
    state = State(context.world, context.manifests)
    circumstances = Circumstances(now=datetime.now(UTC))
    if delete:
        deleted = [context.world.get(ref) or placed.thing for ref, placed in given.objects.items()]
        return judge_files(state, (), deleted, configuration, circumstances)
    if context.against.kind == "files":  # what was read from a cluster is stored already
        state = stored_state(state, configuration)
    applied = [Parsed(placed.thing, placed.document.manifest) for placed in given.objects.values()]
    deleted = list(missing(given, state.world)) if prune else []
    return judge_files(state, applied, deleted, configuration, circumstances)
