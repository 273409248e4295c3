"""Answer a recorded AdmissionReview as the webhook would."""

from __future__ import annotations

import click

from cli.exits import exit_codes
from cli.input.against import Against
from cli.input.options import against as against_option
from cli.input.options import configured, output
from cli.input.settings import installed_beside, settings


@click.command(epilog=exit_codes("the request is denied"))
@click.argument("file", metavar="FILE")
@against_option
@output
@click.option(
    "--webhook",
    type=click.Choice(["validating", "mutating"]),
    default="validating",
    show_default=True,
    help="The webhook that answers.",
)
@configured
def review(file: str, against: Against, output: str, webhook: str, profile: str | None, config: str | None) -> None:
    """Answer the AdmissionReview (v1) in FILE, JSON or YAML; - is standard input.

    The code of the webhook reads the review, judges it and answers. With -o json the output is the AdmissionReview that
    the API server would get.

    \b
    Examples:
      quotree review review.json --against files:trees/
      quotree review review.json --against cluster -o json
      quotree review pod.json --webhook mutating
      quotree review - --profile compat < review.yaml
    """
    from cli.actions.review import answer  # imported late: see cli/actions

    configuration = settings(config, [file], profile, installed=installed_beside(against))
    mutating = webhook == "mutating"
    click.get_current_context().exit(answer(file, against, configuration, mutating=mutating, json=output == "json"))
