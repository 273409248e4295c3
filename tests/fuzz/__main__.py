"""`make fuzz`: `python -m tests.fuzz [--inputs N] [--seed S] [--processes P] [--only NUMBER]`."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import sys
import time

from tests.fuzz.campaign import GROWTH, Outcome, share


def main() -> int:
    options = _options()
    numbers = range(options.only, options.only + 1) if options.only is not None else range(options.inputs)
    print(f"seed {options.seed}, {len(numbers)} inputs, {options.processes} processes", flush=True)
    started = time.monotonic()
    shares = [(options.seed, numbers[first :: options.processes]) for first in range(options.processes)]
    outcome = Outcome()
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        for part in pool.imap_unordered(share, shares):
            outcome.add(part)
    _print(outcome, time.monotonic() - started)
    return 1 if outcome.failed or outcome.grown > GROWTH else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--inputs", type=int, default=int(os.environ.get("FUZZ_INPUTS") or 1_000_000))
    parser.add_argument("--seed", default=os.environ.get("FUZZ_SEED") or str(random.randrange(10**9)))
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", type=int, help="the number of one input")
    return parser.parse_args()


def _print(outcome: Outcome, seconds: float) -> None:
    for failure in outcome.failures.values():
        print(failure)
    for name, count in sorted(outcome.counts.items()):
        print(f"{count:>9}  {name}")
    total, (slowest, number) = outcome.counts.total(), outcome.slowest
    print(f"{total} inputs in {seconds:.0f} s ({total / seconds:.0f}/s), slowest {slowest:.2f} s (number {number})")
    print(f"failed: {outcome.failed}; a process grew by {outcome.grown / 2**20:.1f} MiB after its first fifth")


if __name__ == "__main__":
    sys.exit(main())
