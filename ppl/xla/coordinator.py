"""Where the processes of a run meet, as a process of its own: `python -m ppl.xla.coordinator`, started by the first of
them.

JAX lets the first process hold this service. When that one dies, JAX aborts all others at once, before they can save.
Here the service outlives it by some seconds, in which the others see for themselves that it is gone, save their draws
and leave.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

from ppl.xla.private import coordination_service

LINGER = 25.0  # seconds


class Coordinator:
    """The service in a process of its own, for the process that holds it."""

    def __init__(self, address: str, count: int, **options: Any) -> None:
        asked = json.dumps([address, count, options])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "ppl.xla.coordinator", asked], stdin=subprocess.PIPE, start_new_session=True
        )

    def shutdown(self) -> None:
        """All have said that they are done."""
        self._process.communicate(b"done\n")


def main(asked: str) -> None:
    """Serve until the process that holds this says that all is done, or is gone itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    address, count, options = json.loads(asked)
    service = coordination_service(address, count, **options)
    if not sys.stdin.readline():  # the other end of the pipe is gone
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):  # whoever reads them is not to wait, nor to read what the service says of who left
            os.dup2(nowhere, stream)
        time.sleep(LINGER)
    else:
        service.shutdown()


if __name__ == "__main__":
    main(sys.argv[1])
