"""The text of one finding, which several formats share."""

from __future__ import annotations

import os

from analysis.report import ReportEntry
from cli.input.documents import STDIN
from cli.report.reports import cause_line, consequence_lines, rendered, without_fix
from policies.model.printing import plain


def details(entry: ReportEntry) -> list[str]:
    """The causes, the fix and the consequences, one line each."""
    fix = entry.judged.finding.fix
    return [*map(cause_line, entry.causes), *([f"fix: {plain(fix)}"] if fix else ()), *consequence_lines(entry.judged)]


def paragraph(entry: ReportEntry) -> str:
    """The finding with its causes and its fix, on several lines."""
    return "\n".join([without_fix(entry.judged), *details(entry)])


def annotated(entry: ReportEntry) -> str:
    """The message, with the kustomization if the finding has no place in a file."""
    return "\n".join(filter(None, [paragraph(entry), rendered(entry.place)]))


def relative(file: str, folder: str) -> str:
    """The path that services show: relative to the folder that the command runs in, without `./`.

    That folder should be the root of the repository. The path of a file outside of it is not changed.
    """
    if not file or file == STDIN:
        return file
    inner = os.path.relpath(file, folder) if folder and file.startswith("/") else os.path.normpath(file)
    return file if inner.startswith("../") else inner
