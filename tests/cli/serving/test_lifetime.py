"""A server hears SIGTERM whatever it is doing when the signal arrives."""

from __future__ import annotations

import signal
import threading

import pytest

from cli.serving.lifetime import signalled


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_is_heard_while_the_lock_of_the_event_is_held(number: signal.Signals) -> None:
    ended = threading.Event()
    with signalled(ended) as stopped:
        assert not stopped(0)
        with ended._cond:  # type: ignore[attr-defined]  # as each of its methods holds it for some lines
            signal.raise_signal(number)
        assert stopped(0)
    assert ended.is_set()


def test_the_second_signal_is_the_one_that_was_there_before() -> None:
    was = signal.getsignal(signal.SIGTERM)
    with signalled(threading.Event()) as stopped:
        signal.raise_signal(signal.SIGTERM)
        assert stopped(0)
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert signal.getsignal(signal.SIGTERM) is was
