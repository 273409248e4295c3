"""Only text that GitHub would interpret as markup is escaped."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt

from cli.report.formats.markdown import bounded_table, harmless
from tests.profiles import each_case


@pytest.mark.parametrize(
    "text",
    [
        "Queue eng: spec.deserved.cpu: its children deserve cpu=5 (ml 5), but eng holds 4; lower ml to 4 or less",
        "its parents form a cycle: a -> b -> a",
        "'40 cores' is not a valid quantity, 100% + 1? yes! {see}",
        "a_b is nearly a-b",
    ],
)
def test_plain_sentences_stay_as_they_are(text: str) -> None:
    assert harmless(text) == text


@each_case(
    ("text", "shown"),
    [
        ("queues.yaml:100:5", "queues.yaml&#58;100:5"),
        (":smile:", "&#58;smile:"),
        ("https://a.b", "https&#58;//a.b"),
        ("WWW.a.b", "WWW&#46;a.b"),
        ("see #1 and GH-1", "see &#35;1 and GH&#45;1"),
        ("@team", "<code>&#64;</code>team"),
        ("_it_ is $x$", "&#95;it&#95; is &#36;x&#36;"),
        ("spec.deserved[nvidia.com/gpu]", "spec.deserved&#91;nvidia.com/gpu&#93;"),
        ("<script>", "&#60;script>"),
        ("a | b \\|", "a &#124; b &#92;&#124;"),
        ("- x", "&#45; x"),
        ("> x", "&#62; x"),
        ("one\ntwo", "one<br>two"),
    ],
)
def test_github_markup_is_escaped(text: str, shown: str) -> None:
    assert harmless(text) == shown


@pytest.mark.parametrize(
    "text",
    ["![a](b)", "`` ` ``", "**b** __b__ ~~s~~", "<a@b.c> &lt; <!-- x", "www.a.b ftp://a.b", "\\* \\| | |", "a_b_c"],
)
def test_table_cell_shows_the_text_unchanged(text: str) -> None:
    page = MarkdownIt("gfm-like", {"linkify": False}).render("\n".join(bounded_table(["x"], [[text]])))

    cell = page.partition("<td>")[2].partition("</td>")[0].replace("<code>@</code>", "@")
    assert cell == text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
