"""The pages of the commands and the man pages are complete and valid roff."""

from __future__ import annotations

import re

from generators import command_pages, man_pages
from generators.command_help import every_help
from generators.files import ROOT
from tests.profiles import each_case

HELPS = list(every_help())
PAGES = man_pages.generate()
_MACROS = {".TH", ".SH", ".PP", ".TP", ".B", ".BR", ".nf", ".fi", '.\\"'}


def test_every_option_of_every_command_is_on_both_pages() -> None:
    pages = command_pages.generate()

    for each in HELPS:
        man = PAGES[f"docs/man/{man_pages.name(each)}.1"].replace("\\-", "-")
        page = pages[f"docs/commands/{each.words[0] if each.words else 'README'}.md"]
        assert not each.words or f"# {each.name}\n" in page
        assert each.text
        assert " ".join(each.exits.split()) in " ".join((page + pages["docs/commands/README.md"]).split())
        for written, _ in each.options:
            assert written in page.replace("\\|", "|")
            assert written in man
        assert all(line in page and line in man.replace("\\e", "\\") for line in each.examples)


def test_there_is_no_page_of_a_removed_command() -> None:
    assert {f"docs/man/{each.name}" for each in (ROOT / "docs" / "man").iterdir()} == PAGES.keys()
    left = {f"docs/commands/{each.name}" for each in (ROOT / "docs" / "commands").iterdir()}
    assert left == command_pages.generate().keys()


def test_a_command_links_to_the_page_or_the_section_that_links_to_its_options() -> None:
    written = {
        "one": "# One\n\n[All options](commands/count.md).\n",
        "two": "# Two\n\n## List, and stop\n\n([options](commands/list.md))\n",
    }

    assert command_pages.about("count", written) == "[One](../one.md)"
    assert command_pages.about("list", written) == "[List, and stop](../two.md#list-and-stop)"
    assert command_pages.about("stop", written) == ""


@each_case("name", sorted(PAGES))
def test_no_text_of_a_man_page_is_read_as_a_roff_command(name: str) -> None:
    lines = PAGES[name].splitlines()

    assert {line.split()[0] for line in lines if line.startswith((".", "'"))} <= _MACROS
    assert all(re.fullmatch(r"(?:[^\\]|\\[-e&])*", line) for line in lines if not line.startswith('.\\"'))
