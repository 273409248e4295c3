"""Fix manifests where a rule knows the right value, without changing the rest of a file."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from pathlib import Path

import click

from cli.exits import Exit, Misused, exit_codes, strongest
from cli.input.against import Against
from cli.input.documents import STDIN, noted
from cli.input.options import against as against_option
from cli.input.options import configured, input_paths, inputs
from cli.input.roots import context_of, contexts_of, survey_roots, together
from cli.input.selection import InputSelection
from cli.input.settings import installed_beside, settings
from cli.links import owned
from cli.output import emit, note, some
from cli.report.fixing import Fixing, fixed
from cli.report.replacing import replace_text
from policies.judging.sentence import sentence
from policies.judging.verdict import Judged
from policies.model.printing import plain


@click.command(epilog=exit_codes("a file would change (--check)"))
@inputs
@against_option
@configured
@click.option("--write", is_flag=True, help="Change the files.")
@click.option("--check", is_flag=True, help="Exit 1 if a file would change.")
def fix(
    paths: tuple[str, ...],
    filenames: tuple[str, ...],
    against: Against,
    profile: str | None,
    config: str | None,
    write: bool,
    check: bool,
) -> None:
    """Fix the manifests in PATH... where a rule knows the right value, and print the changes as a unified diff.

    Only values that a rule proposes are changed: legacy annotations; misspelt names of fields, kinds, keys, flavors,
    cohorts and queues; units; the order of resources; limits without effect. Comments, layout and all other documents
    stay as they are, to the byte. A fix that would cause another finding is left out. Without --write no file is
    changed. Links that lead out of PATH are not followed.

    \b
    Examples:
      quotree fix trees/                                  # what would change
      quotree fix trees/ --write
      quotree fix trees/ --check                          # for CI: exit 1 if there is something to fix
      quotree fix change.yaml --against files:trees/
    """
    every = input_paths(paths, filenames)
    if write and "-" in every:
        raise Misused("--write changes files, and standard input is not a file; leave --write out")
    configuration = settings(config, every, profile, installed=installed_beside(against))
    found = survey_roots(InputSelection(tuple(every)), config, render=False)
    gathered = together(noted(root.inputs) for each in found for root in each.roots)
    contexts = contexts_of(found, against, configuration, gathered)
    unreadable = [*gathered.unreadable, *(item for each in contexts.values() for item in each.unreadable)]
    for item in unreadable:
        note(str(item))
    documents = (document for each in found for document in each.found.documents())
    files = {document.source: owned(document.source, every) for document in documents if document.source != STDIN}
    foreign = {file for file, place in files.items() if place is None}
    fixing = Fixing({}, {})
    for each in found:
        for root in each.roots:
            context = context_of(root, contexts[each.against(against)], configuration)
            fixing.add(fixed(root.documents, each.found.unreadable, context, configuration, foreign))
    fixes = {file: text for file, text in fixing.texts.items() if text != fixing.before[file]}
    first = {files.get(file) or file: file for file in reversed(fixes)}  # a link and its target are one file
    changed = {file: text for file, text in fixes.items() if first[files.get(file) or file] == file}
    if diff := "\n".join(line for file in changed for line in _diff(file, fixing.before[file], changed[file])):
        emit(diff)
    for file, text in changed.items() if write else ():
        if place := files[file]:
            replace_text(place, fixing.before[file], text)
    _notes(fixing, changed, write)
    codes = [Exit.UNREADABLE] if unreadable else []
    click.get_current_context().exit(strongest([*codes, Exit.FINDINGS if check and changed else Exit.CLEAN]))


def _diff(file: str, before: str, after: str) -> Iterator[str]:
    """The lines of a unified diff for `git apply` and `patch`; characters that do not print are escaped."""
    name = _in_patch(file)
    old, new = (text.removesuffix("\n").split("\n") for text in (before, after))
    return map(_shown, difflib.unified_diff(old, new, f"a/{name}", f"b/{name}", lineterm=""))


def _in_patch(file: str) -> str:
    """The file relative to the working directory, where the patch is applied. git refuses absolute paths."""
    path = Path(file)
    relative = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return relative.as_posix().lstrip("/")


def _shown(line: str) -> str:
    return "\t".join(plain(part) for part in line.removesuffix("\r").split("\t"))


def _notes(fixing: Fixing, changed: dict[str, str], write: bool) -> None:
    for file in fixing.foreign:
        target = os.path.realpath(file)
        note(f"not fixed: {file} leads to {target}, outside of the named paths; name {target}")
    for judged, reason in fixing.left:
        note(f"not fixed: {sentence(judged)} [{judged.rule.id}]: {reason}")
    for judged in fixing.guesses:
        note(f"not fixed: {sentence(judged)} [{judged.rule.id}]: {_guess_text(judged)}")
    done = len(fixing.done)
    what = f"{done} fix{'' if done == 1 else 'es'} in {some(len(changed), 'file')}"
    offer = f"{what}, --write writes {'it' if done == 1 else 'them'}"
    did = f"{what} written" if write and done else offer if done else "nothing to fix"
    note(f"{did}{_by_hand(fixing.by_hand)}")


def _guess_text(guess: Judged) -> str:
    if " or " in guess.finding.fix.partition("?")[0]:
        return "more than one name is possible; choose one by hand"
    return "the name is a guess; if it is right, write it by hand"


def _by_hand(count: int) -> str:
    if not count:
        return ""
    findings = "1 finding has" if count == 1 else f"{count} findings have"
    return f"; {findings} to be fixed by hand, `quotree validate` shows {'it' if count == 1 else 'them'}"
