"""Answer a recorded AdmissionReview as the webhook would."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from analysis.context import Context
from cli.exits import Exit, OutOfReach, strongest
from cli.input.against import Against
from cli.input.context import load
from cli.input.kueue_version import installed_beside
from cli.input.options import against as against_option
from cli.input.options import configured, output
from cli.input.settings import settings
from cli.output import emit, json_text, note
from cluster.errors import ClusterError, NotFound
from cluster.resource import Manifest, Resource
from policies.configuration.settings import Configuration
from policies.judge import Before, stored_state

if TYPE_CHECKING:
    from webhook.replay import Replay
    from webhook.review import Review


@click.command()
@click.argument("file", metavar="FILE")
@against_option
@output
@click.option(
    "--webhook",
    type=click.Choice(["validating", "mutating"]),
    default="validating",
    show_default=True,
    help="Whose answer it is.",
)
@configured
def review(
    file: str,
    against: Against,
    output: str,
    webhook: str,
    profile: str | None,
    config: str | None,
) -> None:
    """Answer the AdmissionReview (v1) in FILE, JSON or YAML; - is standard input.

    The webhook's own code reads the review, judges it and answers. With -o json the answer is the AdmissionReview that
    the API server would get. Exit code 1: the request is denied.

    \b
    Examples:
      quotree review review.json --against files:trees/
      quotree review review.json --against cluster -o json
      quotree review pod.json --webhook mutating
      quotree review - --profile compat < review.yaml
    """
    # here, since they load the webhook, which the list of commands does without
    from cli.input.recorded_review import BadRecording, recorded
    from cli.report.reviewed import words
    from webhook.replay import served

    configuration = settings(config, [file], profile, installed=installed_beside(against))
    mutating = webhook == "mutating"
    try:
        asked, much = recorded(file)
    except BadRecording as bad:
        for failure in bad.failures:
            note(str(failure))
        click.get_current_context().exit(Exit.UNREADABLE)
    if not served(asked, configuration, mutating=mutating):
        note(
            f"no {webhook} webhook is asked about {asked.kind.kind} of group {asked.kind.group!r}: it carries no quota"
        )
        click.get_current_context().exit(Exit.UNREADABLE)
    context = load(against, configuration)
    for item in context.unreadable:
        note(str(item))
    answered = _answer(asked, much, against, context, configuration, mutating)
    emit(json_text(json.loads(answered.body)) if output == "json" else words(asked, against, answered))
    allowed = json.loads(answered.body)["response"]["allowed"]
    codes = [Exit.UNREADABLE] if context.unreadable else []
    click.get_current_context().exit(strongest([*codes, Exit.CLEAN if allowed else Exit.FINDINGS]))


def _answer(
    asked: Review, much: str, against: Against, context: Context, configuration: Configuration, mutating: bool
) -> Replay:
    from webhook.owners import OwnerUnknown
    from webhook.replay import replay

    world = context.world
    if against.kind == "files":  # what was read from a cluster is stored already
        world = stored_state(Before(world, context.manifests), configuration).world

    with ExitStack() as stack:

        def fetch(resource: Resource, namespace: str, name: str) -> Manifest | None:
            """The owner of a job or Pod; only a cluster proves one, by its UID."""
            if against.kind != "cluster":
                return None
            cluster = stack.enter_context(against.login.connect())
            try:
                return cluster.get(resource.item(name, namespace))
            except NotFound:
                return None

        try:
            return replay(asked, much, world, configuration, fetch, mutating=mutating)
        except (ClusterError, OwnerUnknown) as error:
            raise OutOfReach(str(error)) from error
