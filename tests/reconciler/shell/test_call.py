"""Questions that are answered in the loop's thread."""

from __future__ import annotations

import pytest

from reconciler.shell.call import call_with_result


def test_the_answer_arrives_when_the_call_is_run() -> None:
    call, answer = call_with_result(lambda: 7)
    assert not answer.done()
    call.run()
    assert answer.result(timeout=0) == 7


def test_an_error_is_for_who_asked_and_not_for_the_loop() -> None:
    call, answer = call_with_result(lambda: {}["missing"])
    call.run()
    with pytest.raises(KeyError):
        answer.result(timeout=0)


def test_a_question_that_nobody_waits_for_any_more_is_not_asked() -> None:
    observed: list[int] = []
    call, answer = call_with_result(lambda: observed.append(1))
    answer.cancel()
    call.run()
    assert observed == []
