"""Messages and docstrings are plain English: forms that read like a riddle do not come back."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = (
    "analysis",
    "audit",
    "certs",
    "cli",
    "cluster",
    "dashboard",
    "examples",
    "generators",
    "policies",
    "reconciler",
    "scheduling",
    "webhook",
)
BANNED = {
    r"(?<!there )(?<!There )\b(?:is|are) no (?!longer\b)": 'write "is not a valid quantity", not "is no quantity"',
    r"\b(?:is|are) none of (?!its\b|their\b)": 'write "must be one of ..."',
    r"\bhere is nothing\b": 'write "only ... is supported", or "... does not exist"',
    r"\bstands? there twice\b": 'write "is listed twice"',
    r"\bwhoever\b": "name the person or the program",
    r"\bthat which\b": "name it",
    r"\bof itself\b": 'write "by default" or "automatically"',
    r"\bfor ever\b": 'write "indefinitely"',
    r"\bheard of\b": 'write "reachable"',
    r"\bas click has it\b": 'write "click\'s default"',
    r"\bcom(?:e|es|ing) to nothing\b|\bcame to nothing\b": 'write "was not stored", or what did not happen',
    r"\bwhat (?:becomes|became|comes|came) of\b": 'write "the effect", "the result" or "the use of"',
    r"\bwho asks\b": 'write "the user" or "the caller"',
    r"\bthose who\b": "name the users",
    r"\bnothing is said\b": 'write "nothing is reported"',
    r"\btold\b": 'write "reported" or "logged", or "distinguished" for "told apart"',
}
_ANY = re.compile("|".join(BANNED), re.IGNORECASE).search
_FRAGMENT = re.compile(r"(?:Of|As|By|Who|Whom|Those)\b").match
WITH_SUBJECTS = ("analysis", "audit", "certs", "cli", "cluster", "generators")
"""The packages whose docstrings do not begin with the exception, such as "None where there is no queue."."""
_NO_SUBJECT = re.compile(r"(?:None|False|Empty|Such as|With|Without)\b(?! `)").match
_FIELD_FRAGMENT = re.compile(r"(?:Of|As|By|Who|Whom|Those|That|For|Between|Has)\b").match
_ERRORS_ALONE = re.compile(r"Raises [^.]*\.\Z").match
_RIDDLE = re.compile(
    r"test_(?:who|whose|what)_|_(?:whoever|somebody|told|stands|rests|for_ever|of_itself|says_so|those_who)(?:_|\Z)"
).search
"""Words that names of tests do not have. A failed test is read in CI by people who do not know it."""
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Texts(NamedTuple):
    """The texts of a module: literals with their lines, docstrings, and the texts below fields and constants."""

    literals: list[tuple[int, str]]
    docstrings: list[str]
    of_fields: list[str]


def texts(source: str) -> Texts:
    nodes = [*ast.walk(ast.parse(source))]
    documents = (ast.get_docstring(node) for node in nodes if isinstance(node, _DOCUMENTED))
    return Texts([*literals(nodes)], [each for each in documents if each is not None], [*of_fields(nodes)])


@cache
def texts_of(module: Path) -> Texts:
    """Two tests read them, and parsing takes a millisecond for each module."""
    return texts(module.read_text(encoding="utf-8"))


def literals(nodes: list[ast.AST]) -> Iterator[tuple[int, str]]:
    """Each string literal with its line; the fields of an f-string are `{}`. Docstrings are literals, too."""
    parts: set[ast.AST] = set()
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            parts.update(value for value in node.values if isinstance(value, ast.Constant))
            yield node.lineno, "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in parts:
            yield node.lineno, node.value


def faults(found_in: Texts) -> list[str]:
    """What is wrong with each literal and docstring of a module: its beginning, and what to write instead."""
    found = []
    for line, text in found_in.literals:
        sentence = " ".join(text.split())
        if _ANY(sentence):
            advice = next(advice for form, advice in BANNED.items() if re.search(form, sentence, re.IGNORECASE))
            found.append(f"{line}: {sentence[:80]!r}: {advice}")
    for document in found_in.docstrings:
        if _ERRORS_ALONE(document):
            found.append(f"{document!r}: say what the code does, then which errors it raises")
        if _FRAGMENT(document):
            found.append(f"{document[:80]!r}: begin with a subject or a verb")
    for document in found_in.of_fields:
        if _FIELD_FRAGMENT(document):
            found.append(f"{document[:80]!r}: begin with a subject or a verb")
    return found


def of_fields(nodes: list[ast.AST]) -> Iterator[str]:
    """The text below an assignment, which documents a field or a constant."""
    for node in nodes:
        body = getattr(node, "body", None)
        for assigned, text in pairwise(body if isinstance(body, list) else ()):
            match assigned, text:
                case ast.Assign() | ast.AnnAssign(), ast.Expr(value=ast.Constant(value=str(document))):
                    yield document


@pytest.mark.parametrize(
    "source",
    [
        "raise ValueError(f'{text!r} is no quantity')",
        "'it is none of a, b'",
        "'''A value.\n\n    Here is\n    nothing but GET.'''",
        "f'{a} and whoever reads {b}'",
    ],
)
def test_a_banned_form_is_found_in_literals_f_strings_and_docstrings(source: str) -> None:
    assert len(faults(texts(source))) == 1


@pytest.mark.parametrize("source", ["'it is no longer there'", "'there is no such queue'", "'is not a valid quantity'"])
def test_plain_sentences_pass(source: str) -> None:
    assert faults(texts(source)) == []


@pytest.mark.parametrize("document", ["Of the queue.", "Raises BadPair."])
def test_fragments_and_lone_errors_are_found_only_in_docstrings(document: str) -> None:
    assert len(faults(texts(f"def a():\n    {document!r}"))) == 1
    assert faults(texts(f"def a():\n    'The queue.'\n    return {document!r}")) == []


@pytest.mark.parametrize("document", ["Officers wait.", "Read it. Raises BadPair."])
def test_a_docstring_with_a_subject_or_a_verb_passes(document: str) -> None:
    assert faults(texts(f"def a():\n    {document!r}")) == []


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_has_plain_texts(package: str) -> None:
    modules = sorted((ROOT / package).rglob("*.py"))

    assert modules
    assert [f"{module.relative_to(ROOT)}:{fault}" for module in modules for fault in faults(texts_of(module))] == []


def test_a_fragment_is_found_in_the_text_of_a_field() -> None:
    assert len(faults(texts("A = 1\n'For one run.'\nclass B:\n    c: int = 2\n    'Between two.'\n"))) == 2
    assert faults(texts("A = 1\n'The seconds of one run.'\nprint()\n'For b.'\n")) == []


@pytest.mark.parametrize("package", WITH_SUBJECTS)
def test_the_docstrings_of_a_package_name_the_value_first(package: str) -> None:
    modules = sorted((ROOT / package).rglob("*.py"))

    assert modules
    assert [
        f"{module.relative_to(ROOT)}: {document}"
        for module in modules
        for document in texts_of(module).docstrings
        if _NO_SUBJECT(document)
    ] == []


def test_a_docstring_that_begins_with_the_exception_is_found() -> None:
    assert _NO_SUBJECT("None where there is no queue.")
    assert _NO_SUBJECT("Without a date.")
    assert not _NO_SUBJECT("Without `render` nothing runs.")
    assert not _NO_SUBJECT("The queue; None if there is none.")


def test_names_of_tests_begin_with_the_tested_object() -> None:
    defined = re.compile(r"^ *(?:async )?def (test_\w+)", re.MULTILINE)
    names = {name for path in ROOT.glob("tests/**/*.py") for name in defined.findall(path.read_text(encoding="utf-8"))}

    assert len(names) > 6000
    assert sorted(filter(_RIDDLE, names)) == []


@pytest.mark.parametrize("name", ["test_who_asks_is_told", "test_what_rests", "test_a_queue_rests"])
def test_a_test_name_that_is_a_riddle_is_found(name: str) -> None:
    assert _RIDDLE(name)
