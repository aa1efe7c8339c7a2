"""`initialize`: this process becomes one of several whose devices make up one mesh."""

from __future__ import annotations

import os
from typing import Any

from ppl.model.log import log
from ppl.xla.coordinator import Coordinator
from ppl.xla.later import jax
from ppl.xla.private import served_by
from ppl.xla.processes import company

HEARTBEAT = 30  # seconds; what ppl itself looks at is quicker
NUMBER, COUNT, ADDRESS = "PPL_PROCESS", "PPL_PROCESSES", "PPL_COORDINATOR"  # as `python -m ppl.distributed` says them


def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    *,
    heartbeat_timeout_seconds: int = HEARTBEAT,
    **options: Any,
) -> None:
    """Make this process one of several that run the same program in step, each with devices of its own.

    A thin layer over `jax.distributed.initialize`. To be called before anything is computed, in each process. Then
    `pm.sample(mesh=...)` takes the devices of all of them; each process returns the same result. Where a process dies
    or hangs, the others save their draws and leave with code 75. Where `python -m ppl.distributed` has started the
    process, the call is made already and a further one does nothing.

    Parameters
    ----------
    coordinator_address, num_processes, process_id : optional
        Address and port of the first process, how many there are, and which this is. SLURM, Open MPI, Kubernetes and
        `python -m ppl.distributed` say it by themselves. The port should be reachable by the processes alone.
    heartbeat_timeout_seconds : int, default 30
        After how long JAX's own runtime gives a process up.
    **options
        Further arguments of `jax.distributed.initialize`.
    """
    if jax.distributed.is_initialized():
        return
    if ADDRESS in os.environ and coordinator_address is None:
        coordinator_address = os.environ[ADDRESS]
        num_processes, process_id = int(os.environ[COUNT]), int(os.environ[NUMBER])
        options = {"local_device_ids": None, "cluster_detection_method": "deactivate", **options}
    jax.config.update("jax_enable_preemption_service", False)  # it would swallow SIGTERM, by which runs are saved
    with served_by(Coordinator):  # which the death of the first process does not take along
        jax.distributed.initialize(
            coordinator_address,
            num_processes,
            process_id,
            heartbeat_timeout_seconds=heartbeat_timeout_seconds,
            **options,
        )
    if jax.process_count() > 1:
        company()
    if jax.process_index() == 0:
        log.info("%d processes, %d devices: %s", jax.process_count(), jax.device_count(), jax.devices()[0].device_kind)
