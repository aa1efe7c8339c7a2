"""`python -m ppl.distributed -n 2 fit.py [arguments]`: a script in several processes of this machine, in step.

For laptops and tests; on clusters `srun`, `mpirun` or a JobSet starts the processes, and the script calls
`ppl.distributed.initialize()`. The exit code is 0 where all processes end well. An error of a process goes before
75, which means that the run is saved and may be started again, and that before the signal that killed one.
"""

from __future__ import annotations

import argparse
import os
import runpy
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

from ppl.distributed.initializing import ADDRESS, COUNT, NUMBER, initialize

GRACE = 30.0  # seconds in which processes see for themselves that another one is gone, and save


def main(arguments: list[str]) -> int:
    """Start the processes and wait for them; in one of them, run the script."""
    if ADDRESS in os.environ:
        return _one(arguments)
    parser = argparse.ArgumentParser("python -m ppl.distributed", description="A script in several processes, in step.")
    parser.add_argument("-n", type=int, default=2, metavar="N", help="how many processes (2)")
    parser.add_argument("script", help="a Python script, and its arguments")
    parser.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.n < 1:
        parser.error(f"-n must be at least 1, got {asked.n}")
    if not Path(asked.script).exists():
        parser.error(f"there is no file {asked.script!r}")
    return _all(asked.n, [asked.script, *asked.rest])


def _one(arguments: list[str]) -> int:
    initialize()
    sys.argv[:] = arguments
    sys.path[0] = str(Path(arguments[0]).resolve().parent)
    runpy.run_path(arguments[0], run_name="__main__")
    return 0


def _all(count: int, script: list[str]) -> int:
    """The processes of one run; SIGTERM and Ctrl-C are passed on to them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    surroundings = {**os.environ, ADDRESS: address, COUNT: str(count), "JAX_COORDINATOR_BIND_ADDRESS": address}
    command = [sys.executable, "-m", "ppl.distributed", *script]
    processes = [subprocess.Popen(command, env=surroundings | {NUMBER: str(i)}) for i in range(count)]

    def passed_on(number: int, frame: FrameType | None) -> None:
        for process in processes:
            process.send_signal(number)

    signal.signal(signal.SIGTERM, passed_on)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all of them
    codes: list[int | None] = [None] * count
    failed_at = float("inf")
    while None in codes:
        codes = [process.poll() for process in processes]
        if any(codes):
            failed_at = min(failed_at, time.monotonic())
        if time.monotonic() - failed_at > GRACE:
            for process in processes:
                process.kill()  # one that hangs, or was stopped: nobody waits for it any more
        time.sleep(0.05)
    return _joint([code if code is None or code >= 0 else 128 - code for code in codes])


def _joint(codes: list[int | None]) -> int:
    """What the run comes to: an error of a process of its own, which starting again would not mend; else 75 where
    one has saved the run, whatever has killed the others."""
    failed = [code for code in codes if code]
    own = [code for code in failed if code not in (75, *range(128, 256))]
    return (own or [code for code in failed if code == 75] or failed or [0])[0]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
