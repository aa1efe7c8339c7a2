"""Tables of rows in files."""

import sys
import threading

import numpy as np

from ppl.samplers.runs.rows import FileRows, Shape


def test_threads_read_their_tables_side_by_side(tmp_path):
    """Python 3.11 fails now and then where two threads parse literals at once, and a header of NumPy's is one."""
    failed = []

    def fill_and_read(number):
        try:
            rows = FileRows(tmp_path / f"{number}.npy", Shape(100, (3,), np.dtype(float)))
            rows.write(0, np.full((100, 3), float(number)))
            assert all(rows.read(2, 5).tolist() == [[number] * 3] * 3 for _ in range(500))
            rows.close()
        except BaseException as error:
            failed.append(error)

    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=fill_and_read, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(usual)
    assert not failed
