"""The peak memory of processes. `python -m tests.bench.memory COMMAND ...` prints the cost of a command as JSON.

Linux counts the memory of the parent at the `exec` as part of the child's peak. So a small process starts the command.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path


def peak_mib(pid: int) -> float:
    """The peak resident memory of a running process since its `exec`."""
    found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


def main() -> int:
    """Print wall seconds, processor seconds (user and system), peak resident MiB and the exit code of one run."""
    started = time.perf_counter()
    process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - started
    print(json.dumps([wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, process.returncode]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
