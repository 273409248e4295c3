"""`make run`: judge and simulate the examples offline, then serve the webhook and the dashboard on loopback."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path

from examples.demo.dashboard import Dashboard, visited
from examples.demo.offline import accepted, refused, warned
from examples.demo.process import NotServed
from examples.demo.simulation import simulated
from examples.demo.webhook import Webhook, play

EXAMPLES = Path(os.path.relpath(Path(__file__).parents[2] / "examples"))


def main() -> int:
    """0 if everything is as the examples say, else 1."""
    parser = argparse.ArgumentParser(prog="make run", description=__doc__)
    parser.add_argument("--once", action="store_true", help="exit after the last request instead of serving on")
    once = parser.parse_args().once
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # so that the webhook is stopped then, too
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts background jobs with this signal ignored
    try:
        return _run(once)
    except KeyboardInterrupt:
        return 0
    except (NotServed, OSError) as error:
        print(error, file=sys.stderr)
        return 1


def _run(once: bool) -> int:
    print(f"1. {EXAMPLES.name}/ judged offline, as by `quotree validate`\n")
    surprises = accepted(EXAMPLES) + refused(EXAMPLES) + warned(EXAMPLES)
    print("\n2. Queues and work simulated without a cluster, as by `quotree simulate`\n")
    surprises += simulated(EXAMPLES, shown="special-queue")
    print("\n3. The webhook over TLS, with examples/accepted as its cluster\n")
    with Webhook(EXAMPLES / "accepted") as webhook, Dashboard(EXAMPLES / "accepted") as dashboard:
        surprises += play(webhook, EXAMPLES / "reviews")
        print("\n4. The dashboard, with the same objects\n")
        surprises += visited(dashboard)
        for surprise in surprises:
            print(f"NOT AS EXPECTED: {surprise}", file=sys.stderr)
        print("\nEverything is as the examples say." if not surprises else "")
        if not once:
            print(f"The dashboard is at {dashboard.address}\n")
            print(f"The webhook keeps serving at {webhook.url} until Ctrl-C. Try:\n")
            print(webhook.curl(EXAMPLES / "reviews"))
            sys.stdout.flush()  # also into a pipe, whose reader may wait for the address
            webhook.wait()
    return 1 if surprises else 0


if __name__ == "__main__":
    sys.exit(main())
