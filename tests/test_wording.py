"""Messages and docstrings are plain English: forms that read like a riddle do not come back."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = (
    "analysis",
    "audit",
    "certs",
    "cli",
    "cluster",
    "dashboard",
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
    r"\btold\b": 'write "reported" or "logged", or "distinguished" for "told apart"',
}
_ANY = re.compile("|".join(BANNED), re.IGNORECASE).search
SENTENCES = ROOMS
"""The rooms whose docstrings do not begin with a word of `_FRAGMENT`."""
_FRAGMENT = re.compile(r"(?:Of|As|By|Who|Whom|Those)\b").match
_FIELD_FRAGMENT = re.compile(r"(?:Of|As|By|Who|Whom|Those|That|For|Between|Has)\b").match
_ERRORS_ALONE = re.compile(r"Raises [^.]*\.\Z").match
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def texts(source: str) -> Iterator[tuple[int, str]]:
    """Each string literal with its line; the fields of an f-string are `{}`. Docstrings are literals, too."""
    parts: set[ast.AST] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            parts.update(value for value in node.values if isinstance(value, ast.Constant))
            yield node.lineno, "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in parts:
            yield node.lineno, node.value


def faults(source: str) -> list[str]:
    """What is wrong with each literal of a module: its line, its beginning, and what to write instead."""
    found = []
    for line, text in texts(source):
        sentence = " ".join(text.split())
        if _ANY(sentence):
            advice = next(advice for form, advice in BANNED.items() if re.search(form, sentence, re.IGNORECASE))
            found.append(f"{line}: {sentence[:80]!r}: {advice}")
    return found


def errors_alone(source: str) -> list[str]:
    """The docstrings that say which errors are raised, and not what the code does."""
    documents = (ast.get_docstring(node) for node in ast.walk(ast.parse(source)) if isinstance(node, _DOCUMENTED))
    return [document for document in documents if document is not None and _ERRORS_ALONE(document)]


def fragments(source: str) -> list[str]:
    """The docstrings that begin with a word of `_FRAGMENT`, such as "Of the queue ..."; those of fields, too."""
    documents = (ast.get_docstring(node) for node in ast.walk(ast.parse(source)) if isinstance(node, _DOCUMENTED))
    found = [document for document in documents if document is not None and _FRAGMENT(document)]
    return found + [document for document in of_fields(source) if _FIELD_FRAGMENT(document)]


def of_fields(source: str) -> Iterator[str]:
    """The text below an assignment, which documents a field or a constant."""
    for node in ast.walk(ast.parse(source)):
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
    assert len(faults(source)) == 1


@pytest.mark.parametrize("source", ["'it is no longer there'", "'there is no such queue'", "'is not a valid quantity'"])
def test_plain_sentences_pass(source: str) -> None:
    assert faults(source) == []


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_has_no_banned_form(room: str) -> None:
    modules = sorted((ROOT / room).rglob("*.py"))

    assert modules
    assert [
        f"{module.relative_to(ROOT)}:{fault}"
        for module in modules
        for fault in faults(module.read_text(encoding="utf-8"))
    ] == []


def test_a_fragment_is_found_in_docstrings_alone() -> None:
    source = "class A:\n    'Of the queue.'\n    def b(self):\n        'The queue.'\n        return 'Of it'\n"

    assert fragments(source) == ["Of the queue."]
    assert fragments("'Officers wait.'") == []
    assert fragments("A = 1\n'For one run.'\nclass B:\n    c: int = 2\n    'Between two.'\n") == [
        "For one run.",
        "Between two.",
    ]
    assert fragments("A = 1\n'The seconds of one run.'\nprint()\n'For b.'\n") == []


def test_a_docstring_with_nothing_but_errors_is_found() -> None:
    source = "def a():\n    'Raises BadPair.'\ndef b():\n    'Read it. Raises BadPair.'\n"

    assert errors_alone(source) == ["Raises BadPair."]


@pytest.mark.parametrize("room", SENTENCES)
def test_the_docstrings_of_a_room_say_what_the_code_does(room: str) -> None:
    modules = sorted((ROOT / room).rglob("*.py"))

    assert modules
    assert [
        f"{module.relative_to(ROOT)}: {document}"
        for module in modules
        for document in errors_alone(module.read_text(encoding="utf-8"))
    ] == []


@pytest.mark.parametrize("room", SENTENCES)
def test_the_docstrings_of_a_room_are_not_fragments(room: str) -> None:
    modules = sorted((ROOT / room).rglob("*.py"))

    assert modules
    assert [
        f"{module.relative_to(ROOT)}: {document}"
        for module in modules
        for document in fragments(module.read_text(encoding="utf-8"))
    ] == []
