"""Links that carry a change: who may open one, for how long, and what a changed one is worth."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from flask.testing import FlaskClient

from dashboard.login.sessions import Sessions
from dashboard.what_if import edits
from dashboard.what_if.edits import EditedNode, StopEdit
from dashboard.what_if.links import LASTS, LONGEST, BadLink, ChangeLinks
from tests.dashboard.people import ADMIN, TENANT, browser, signed_in
from tests.dashboard.what_if.answers import QUOTA, cluster

LINES = [edits.encoded(StopEdit(EditedNode("ClusterQueue", "a"), "Hold"))]


def key() -> bytes:
    return b"k" * 32


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def link(page: str) -> str:
    """The link of a page, as a path."""
    found = re.search(r'<a id="link" href="([^"]+)"', page)
    assert found, page
    return found[1]


def test_a_link_opens_at_each_replica_with_the_key_and_nowhere_else() -> None:
    sealed = ChangeLinks(key).seal(LINES)

    assert ChangeLinks(key).open(sealed) == LINES
    with pytest.raises(BadLink):
        ChangeLinks().open(sealed)


def test_a_link_expires() -> None:
    clock = Clock()
    links = ChangeLinks(key, clock)
    sealed = links.seal(LINES)

    clock.now += LASTS
    assert links.open(sealed) == LINES
    clock.now += 1
    with pytest.raises(BadLink, match="is older than 7 days"):
        links.open(sealed)


@pytest.mark.parametrize("change", [lambda it: it[1:], lambda it: it[:-1], lambda _: "", lambda it: it * 2])
def test_what_was_cut_or_added_opens_nothing(change: Callable[[str], str]) -> None:
    with pytest.raises(BadLink):
        ChangeLinks(key).open(change(ChangeLinks(key).seal(LINES)))


def test_no_letter_of_a_link_can_be_changed() -> None:
    sealed = ChangeLinks(key).seal(LINES)
    body = sealed.rstrip("=")

    # The last letter has bits that the base64 of the signature does not use.
    for at, letter in enumerate(body[:-1]):
        with pytest.raises(BadLink):
            ChangeLinks(key).open(sealed[:at] + ("A" if letter != "A" else "B") + sealed[at + 1 :])


def test_a_session_is_no_link_and_a_link_no_session() -> None:
    with pytest.raises(BadLink):
        ChangeLinks(key).open(Sessions(key).seal("token"))
    assert Sessions(key).open(ChangeLinks(key).seal(LINES)) is None


def test_a_change_that_is_too_long_has_no_link() -> None:
    assert ChangeLinks(key).seal(["x" * LONGEST]) == ""


def test_a_colleague_sees_the_same_what_if() -> None:
    world = cluster()
    client = signed_in(world, ADMIN)
    shared = link(client.post("/what-if", data=QUOTA).text)
    page = client.get(shared).text

    assert world.what_if is not None
    (_, first), (_, second) = world.what_if.asked
    assert first == second
    assert "The rules allow this change" in page
    assert 'value="quota=ClusterQueue&amp;name=a' in page
    for secret in ("token", "admin", "ClusterQueue", "spot"):
        assert secret not in shared


def test_the_rights_of_who_opens_it_decide() -> None:
    world = cluster()
    client = signed_in(world, ADMIN)
    shared = link(client.post("/what-if", data=QUOTA).text)
    assert world.what_if is not None
    world.what_if.asked.clear()
    app: FlaskClient = client.application.test_client()

    away = app.get(shared)
    assert away.status_code == 303
    assert away.headers["Location"].startswith("/sign-in?next=/what-if")
    app.post("/sign-in", data={"token": TENANT.removeprefix("Bearer ")})
    answer = app.get(shared)
    assert answer.status_code == 403
    assert "list namespaces" in answer.text
    assert "nominalQuota: &#39;8&#39;" not in answer.text
    assert world.what_if.asked == []


def test_a_forged_link_asks_nothing_and_says_why() -> None:
    world = cluster()
    answer = signed_in(world, ADMIN).get("/what-if?change=forged")

    assert answer.status_code == 400
    assert "This link was changed, is older than 7 days" in answer.text
    assert world.what_if is not None
    assert world.what_if.asked == []


def test_pasted_text_is_never_in_a_link() -> None:
    page = signed_in(cluster(), ADMIN).post("/what-if", data={**QUOTA, "yaml": "kind: Secret"}).text

    assert 'id="link"' not in page
    assert "A link cannot carry pasted YAML" in page


def test_a_dashboard_of_files_has_no_links() -> None:
    world = cluster()
    world.what_if = None

    assert 'id="link"' not in browser(world).post("/what-if", data=QUOTA).text
