"""`make quickstart`: the quick start of the README without Docker, on a control plane of its own."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import threading
from pathlib import Path

from tests.apiserver import build
from tests.apiserver.dashboard.own_machine import own_dashboard
from tests.apiserver.quickstart.laptop import Laptop, laptop
from tests.apiserver.quickstart.steps import quick_start, works_here

SHOWN = ("kubectl describe job second", "quotree why default/second")


def main() -> int:
    """0 if each command did what the README says."""
    parser = argparse.ArgumentParser(prog="make quickstart", description=__doc__)
    parser.add_argument("--once", action="store_true", help="end after the last command instead of serving on")
    once = parser.parse_args().once
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # so that everything is stopped then, too
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts background jobs with this signal ignored
    try:
        with tempfile.TemporaryDirectory(prefix="quotree-quickstart-") as folder, laptop(Path(folder)) as started:
            return _shown(started, once)
    except build.MissingControlPlaneError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0


def _shown(started: Laptop, once: bool) -> int:
    *commands, refused = filter(works_here, quick_start().first)
    if not all(_ran(started, command) == 0 for command in (*commands, *SHOWN)) or _ran(started, refused) == 0:
        print(started.kubelet.log(), file=sys.stderr)
        return 1
    with own_dashboard(started.server.kubeconfig, started.folder / "dashboard") as address:
        print(f"The dashboard is at {address}", flush=True)
        if not once:
            print(f"\nTo go on, in another terminal:\n\n    export KUBECONFIG={started.server.kubeconfig}\n")
            print(f"    export PATH={started.tools}:$PATH\n\nCtrl-C ends it all.", flush=True)
            threading.Event().wait()
    return 0


def _ran(started: Laptop, command: str) -> int:
    print(f"$ {command}", flush=True)
    done = started.run(command)
    print(done.stdout, flush=True)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
