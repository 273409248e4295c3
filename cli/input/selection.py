"""What the user hands over: files, standard input, and what kustomize and helm make of folders and charts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click

from cli.exits import Misused
from cli.input.documents import STDIN, Document, Unreadable
from cli.input.documents import read as read_documents
from cli.input.given import Given, Placed, identify
from cli.input.options import inputs
from policies.model.objects import Ref


@dataclass(frozen=True, slots=True)
class Selection:
    """`values` are the files with values for all charts."""

    paths: tuple[str, ...]
    kustomizations: tuple[str, ...] = ()
    charts: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    stdin_name: str = STDIN

    @property
    def places(self) -> tuple[str, ...]:
        """Where the configuration is looked for: the inputs that are in the file system."""
        own = self.stdin_name if self.stdin_name != STDIN else "-"
        return (*(own if path == "-" else path for path in self.paths), *self.kustomizations, *self.charts)


def selected(command: Callable[..., Any]) -> Callable[..., Any]:
    """PATH..., -f and the renderers; the command gets them as `selection`."""

    @wraps(command)
    def with_selection(
        *arguments: Any,
        paths: tuple[str, ...],
        filenames: tuple[str, ...],
        stdin_filename: str | None,
        kustomizations: tuple[str, ...],
        charts: tuple[str, ...],
        values: tuple[str, ...],
        **others: Any,
    ) -> Any:
        if values and not charts:
            raise Misused("--values: values are for a chart; name it with --helm")
        if charts:  # as helm has it, or the values would be read as a manifest and the chart be judged without them
            values, filenames = (*values, *filenames), ()
        files = tuple(dict.fromkeys([*paths, *filenames]))
        if not files and not kustomizations and not charts:
            raise Misused("no input: name files or folders, or -f - for standard input")
        if stdin_filename and "-" not in files:
            raise Misused("--stdin-filename: standard input is not read; name it with -")
        selection = Selection(files, kustomizations, charts, values, stdin_filename or STDIN)
        return command(*arguments, selection=selection, **others)

    for option in (
        click.option(
            "--values", metavar="FILE", multiple=True, help="Values for --helm, repeatable; there -f is the same."
        ),
        click.option(
            "--helm", "charts", metavar="CHART", multiple=True, help="What `helm template` makes of this chart."
        ),
        click.option(
            "--kustomize",
            "kustomizations",
            metavar="DIR",
            multiple=True,
            help="What `kustomize build`, or `kubectl kustomize`, makes of this folder.",
        ),
        click.option("--stdin-filename", metavar="FILE", help="The file that standard input stands for, in places."),
    ):
        with_selection = option(with_selection)
    return inputs(with_selection)


def read(selection: Selection, known: Mapping[Ref, Placed] | None = None) -> Given:
    """Everything that is selected; `known` as for `identify`. Raises OutOfReach where a renderer is not installed."""
    documents, unreadable = read_documents(selection.paths, sys.stdin, selection.stdin_name)
    for found in _rendered(selection):
        if isinstance(found, Document):
            documents.append(found)
        else:
            unreadable.append(found)
    return identify(documents, unreadable, known)


def _rendered(selection: Selection) -> Iterator[Document | Unreadable]:
    if not selection.kustomizations and not selection.charts:
        return
    from cli.input.external.rendering import helm, kustomize  # here, since what runs programs loads slowly

    for folder in selection.kustomizations:
        yield from kustomize(folder)
    for chart in selection.charts:
        yield from helm(chart, _values(selection.values))


def _values(files: Sequence[str]) -> Sequence[str]:
    if "-" in files:
        raise Misused("--values -: helm reads values from files; write them into one")
    return files
