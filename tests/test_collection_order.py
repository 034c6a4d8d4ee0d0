"""Every worker must collect the same tests: their names depend neither on the clock nor on the hash seed."""

import os
import subprocess
import sys
import time
from pathlib import Path

TESTS = Path(__file__).parent


def collecting(seed):
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", str(TESTS)]
    return subprocess.Popen(
        command,
        cwd=TESTS.parent,
        env={**os.environ, "PYTHONHASHSEED": seed},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_two_collections_name_the_same_tests():
    first = collecting("1")
    time.sleep(2)  # a name that holds the current second differs now
    second = collecting("2")
    outputs = [process.communicate(timeout=300)[0] for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0), outputs[0][-2000:] + outputs[1][-2000:]
    names = [[line for line in output.splitlines() if "::" in line] for output in outputs]
    assert len(names[0]) > 1000
    assert names[0] == names[1]
