"""Groups of commands below a command, such as `quotree queue`."""

from __future__ import annotations

import click


class SubCommands(click.Group):
    """A group that answers an unknown command with a similar one, or with the list of its commands."""

    def known_words(self, ctx: click.Context) -> list[str]:
        return self.list_commands(ctx)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        asked = args[0] if args and not ctx.resilient_parsing else "-"
        if not asked.startswith("-") and self.get_command(ctx, asked) is None:
            from policies.model.suggestion import close  # here, since only a misspelled command needs it

            known = self.list_commands(ctx)
            near = close(asked, self.known_words(ctx))
            hint = f"Did you mean {near!r}?" if near else f"Choose from {', '.join(known)}."
            ctx.fail(f"No such command {asked!r}. {hint}")
        return super().resolve_command(ctx, args)
