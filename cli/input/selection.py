"""The inputs that the user selects: files, standard input, and folders and charts to render."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import click

from cli.exits import Misused
from cli.input.documents import STDIN
from cli.input.folders import PathExclusion, is_pattern
from cli.input.grouped import grouped, stacked
from cli.input.options import inputs


@dataclass(frozen=True, slots=True)
class InputSelection:
    """The inputs that the user selects.

    `paths`: files, folders and patterns; `-` is standard input.
    `kustomizations`, `charts`: folders and charts to render.
    `values`: files with values for all charts.
    `stdin_name`: the file name that is shown for standard input.
    `exclusion`: the files of folders to skip.
    `each`: files and folders that are organisations of their own.
    `only`: the files whose findings are reported; None means all files.
    """

    paths: tuple[str, ...]
    kustomizations: tuple[str, ...] = ()
    charts: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    stdin_name: str = STDIN
    exclusion: PathExclusion = field(default_factory=PathExclusion)
    each: tuple[str, ...] = ()
    only: tuple[str, ...] | None = None

    @property
    def has_inputs(self) -> bool:
        """Whether there are inputs other than those of `each`."""
        return bool(self.paths or self.kustomizations or self.charts)

    @property
    def places(self) -> tuple[str, ...]:
        """The inputs near which the configuration file is searched."""
        own = self.stdin_name if self.stdin_name != STDIN else "-"
        return (*(own if path == "-" else path for path in self.paths), *self.kustomizations, *self.charts, *self.each)


def _selection(
    paths: tuple[str, ...],
    filenames: tuple[str, ...],
    stdin_filename: str | None,
    kustomizations: tuple[str, ...],
    charts: tuple[str, ...],
    values: tuple[str, ...],
    exclude: tuple[str, ...],
    each: tuple[str, ...] = (),
    within: str | None = None,
) -> InputSelection:
    if values and not charts:
        raise Misused("--values: values are for a chart; name it with --helm")
    if charts:  # as for helm, -f names values; they would otherwise be judged as manifests
        values, filenames = (*values, *filenames), ()
    files = tuple(dict.fromkeys([*paths, *filenames]))
    if not files and not kustomizations and not charts and not each:
        raise Misused("no input: name files or folders, or -f - for standard input")
    if "-" in values:
        raise Misused("--values -: helm reads values from files; write them into one")
    if stdin_filename and "-" not in files:
        raise Misused("--stdin-filename: standard input is not read; name it with -")
    if wrong := next((each for each in exclude if not is_pattern(each)), None):
        raise Misused(f"--exclude {wrong}: this is not a pattern as in .gitignore")
    selection = InputSelection(
        files, kustomizations, charts, values, stdin_filename or STDIN, PathExclusion(exclude), each
    )
    return selection if within is None else replace(selection, paths=(within,), only=files)


selected = grouped(
    "selection",
    _selection,
    inputs,
    click.option("--stdin-filename", metavar="FILE", help="The file name that is shown for standard input."),
    click.option(
        "--exclude",
        metavar="GLOB",
        multiple=True,
        help="Skip these files of folders: a .gitignore pattern, repeatable. A .quotreeignore has such patterns.",
    ),
    click.option(
        "--kustomize",
        "kustomizations",
        metavar="DIR",
        multiple=True,
        help="Judge the output of `kustomize build`, or `kubectl kustomize`, on this folder.",
    ),
    click.option(
        "--helm", "charts", metavar="CHART", multiple=True, help="Judge the output of `helm template` for this chart."
    ),
    click.option(
        "--values", metavar="FILE", multiple=True, help="Values for --helm, repeatable; there -f is the same."
    ),
)


selected_in_roots = stacked(
    click.option(
        "--each",
        metavar="DIR|FILE",
        multiple=True,
        help="Judge this folder or file as an organisation of its own, repeatable; a pattern in quotes names many:"
        " --each 'clusters/*'. Default: the roots of quotree.yaml, or those that are found.",
    ),
    click.option(
        "--within",
        metavar="DIR",
        help="Judge all of this folder, and report only what is found in the files PATH...; for hooks.",
    ),
    selected,
)
"""The options of a selection for a command that judges several organisations."""
