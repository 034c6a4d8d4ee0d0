"""Files that are being written: private where the user says so, gone when their process is."""

import os
import stat
import subprocess
import sys
import threading

import pytest

from isthmus.corpus import replacing, write_rows
from isthmus.corpus.write import create_part, remove_stale_parts

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX modes and pipes")


@pytest.fixture
def mask():
    before = os.umask(0o077)
    yield
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_obeys_the_mask(tmp_path, mask):
    write_rows(tmp_path / "a.csv", {"text": ["private"]})
    assert mode(tmp_path / "a.csv") == 0o600
    part = create_part(tmp_path / "b.csv")
    assert mode(part) == 0o600


def test_a_file_keeps_the_mode_it_had(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("old")
    os.chmod(path, 0o640)
    write_rows(path, {"text": ["new"]}, force=True)
    assert mode(path) == 0o640


def test_parts_of_dead_processes_are_removed_and_no_others(tmp_path):
    code = (
        "import os, sys; from pathlib import Path; from isthmus.corpus.write import create_part; "
        "print(create_part(Path(sys.argv[1])).name); sys.stdout.flush(); os.kill(os.getpid(), 9)"
    )
    real = tmp_path / "labels of the year.csv"
    done = subprocess.run([sys.executable, "-c", code, str(real)], capture_output=True, text=True, check=False)
    left = tmp_path / done.stdout.strip()
    assert left.exists()
    ours = create_part(tmp_path / "other.csv")  # making another one removes the stale one
    assert not left.exists()
    foreign = tmp_path / ".labels.csv.part"
    foreign.write_text("somebody else's")
    other_machine = tmp_path / ours.name.replace(ours.name.split(".")[-2][:8], "00000000")
    other_machine.write_text("")
    assert remove_stale_parts(tmp_path) == 0
    assert ours.exists()
    assert foreign.exists()
    assert other_machine.exists()


def test_nothing_is_left_after_an_error(tmp_path):
    def fail():
        with replacing(tmp_path / "a.csv") as out:
            out.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_is_written_to(tmp_path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    write_rows(pipe, {"text": ["through the pipe"]})
    reader.join()
    assert got == [b"text\nthrough the pipe\n"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
