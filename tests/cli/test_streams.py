"""Standard output and error that are full, closed, narrow or left: a sentence and an exit code, no traceback."""

import errno
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from isthmus.cli import main
from isthmus.cli.app import run_command

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX shells, pipes and devices")

ROWS = [("the staff was friendly", "staff"), ("the price was high", "price"), ("rude staff there", "staff")] * 4
SOURCE = "id,comment,category\n" + "".join(f"{i},{text},{label}\n" for i, (text, label) in enumerate(ROWS))
TARGET = "id,comment\n" + "".join(f"{i},{text} today\n" for i, (text, _) in enumerate(ROWS))
LABEL = "label source.csv target.csv --method nbc"
CLUSTER = "cluster source.csv target.csv --clusters 2"
DIAGNOSE = "diagnose source.csv target.csv"
BUFFERING = pytest.mark.parametrize("buffered", [False, True], ids=["unbuffered", "buffered"])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("source.csv").write_text(SOURCE)
    Path("target.csv").write_text(TARGET)
    return tmp_path


@pytest.fixture
def opened():
    """Open standard outputs as Python makes them: over a buffer, or for PYTHONUNBUFFERED over the file itself."""
    descriptors = []

    def open_(descriptor, buffered=True, kind=io.FileIO):
        descriptors.append(descriptor)  # closed last: what is left in a buffer still goes where the command sent it
        raw = kind(descriptor, "w", closefd=False)
        return io.TextIOWrapper(io.BufferedWriter(raw) if buffered else raw, "utf-8", write_through=not buffered)

    yield open_
    for descriptor in descriptors:
        os.close(descriptor)


def run_main(monkeypatch, capsys, line, **streams):
    """The command from its entry to its exit, with these streams: the exit code and what was said."""
    handler = signal.getsignal(signal.SIGINT)
    capsys.readouterr()
    try:
        with monkeypatch.context() as patch:
            for name, stream in streams.items():
                patch.setattr(sys, name, stream)
            with pytest.raises(SystemExit) as left:
                main(line.split())
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()  # nothing is left over which Python would complain as it ends
    finally:
        signal.signal(signal.SIGINT, handler)
    return left.value.code, capsys.readouterr().err


def shell(folder, line, **environment):
    """The same as a process of its own, in a shell."""
    line = line.replace("isthmus ", f"{sys.executable} -m isthmus ")
    done = subprocess.run(["bash", "-c", line], cwd=folder, env={**os.environ, **environment}, capture_output=True)
    said = done.stderr.decode("utf-8", "replace")
    assert "Traceback" not in said
    assert "Exception ignored" not in said
    return done.returncode, done.stdout, said


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (f"isthmus {LABEL} > /dev/full", "No space left"),
        ("PYTHONUNBUFFERED=1 isthmus data list > /dev/full", "No space left"),
        ("isthmus data list > /dev/full", "No space left"),
        ("isthmus --version >&-", "Standard output is closed"),
    ],
)
def test_a_process_ends_with_one_sentence_and_a_code(folder, line, says):
    code, _, said = shell(folder, line, TMPDIR=str(folder))
    assert code == 1
    assert says in said
    assert said.strip().endswith("[output-unwritable]")


@BUFFERING
@pytest.mark.parametrize(
    "command", [LABEL, CLUSTER, f"{DIAGNOSE} --json", DIAGNOSE], ids=["label", "cluster", "json", "diagnose"]
)
def test_a_full_disk_is_told(folder, monkeypatch, capsys, opened, command, buffered):
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    full = opened(os.open("/dev/full", os.O_WRONLY), buffered)
    code, said = run_main(monkeypatch, capsys, command, stdout=full)
    assert code == 1
    assert "No space left" in said
    assert said.strip().endswith("[output-unwritable]")  # buffered or not


class Limited(io.FileIO):
    """A file under a limit on the size of files, as ``ulimit -f 1`` sets it: it takes what fits, then refuses."""

    def write(self, data):
        taken = bytes(data)[: 1024 - self.tell()]
        if not taken:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        return super().write(taken)


@BUFFERING
def test_a_limit_on_the_size_of_files_cuts_nothing_off_in_silence(folder, monkeypatch, capsys, opened, buffered):
    limited = opened(os.open("out.json", os.O_WRONLY | os.O_CREAT), buffered, Limited)
    code, said = run_main(monkeypatch, capsys, f"{DIAGNOSE} --json --quiet", stdout=limited)
    assert Path("out.json").stat().st_size <= 1024
    assert code == 1
    assert "File too large" in said


def test_labels_that_cannot_be_written_are_kept_elsewhere(folder, monkeypatch, capsys, opened):
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    full = opened(os.open("/dev/full", os.O_WRONLY))
    code, said = run_main(monkeypatch, capsys, LABEL, stdout=full)
    assert code == 1
    kept = folder / "isthmus.kept.csv"
    assert str(kept) in said
    assert kept.read_text().startswith("id,label,confidence,needs_review,novel_group,review_reason\n0,")
    assert len(kept.read_text().splitlines()) == 13


@pytest.mark.parametrize(
    "command",
    [
        LABEL,
        CLUSTER,
        DIAGNOSE,
        f"{DIAGNOSE} --json",
        f"{LABEL} -o out.csv --json",
        f"{CLUSTER} -o out.csv --json",
        "data list",
        "--version",
    ],
    ids=["label", "cluster", "diagnose", "diagnose json", "label json", "cluster json", "data", "version"],
)
def test_closed_output_is_refused_before_the_work(folder, monkeypatch, capsys, command):
    code, said = run_main(monkeypatch, capsys, command, stdout=None)
    assert code == 1
    assert said.strip().splitlines()[-1].startswith("isthmus: Standard output is closed")
    assert len(said.splitlines()) == 1
    assert not Path("out.csv").exists()


def test_a_reader_of_the_talk_who_leaves_does_not_stop_the_work(folder, monkeypatch, capsys, opened):
    reading, writing = os.pipe()
    os.close(reading)
    left = opened(writing)
    assert run_main(monkeypatch, capsys, f"{LABEL} -o out.csv", stdout=left, stderr=left) == (0, "")
    assert len(Path("out.csv").read_text().splitlines()) == 13
    assert json.loads(Path("run.json").read_text())["output"] == "out.csv"


def test_closed_standard_error(folder, monkeypatch, capsys):
    out = io.BytesIO()
    assert run_main(monkeypatch, capsys, LABEL, stdout=io.TextIOWrapper(out), stderr=None)[0] == 0
    assert out.getvalue().count(b"\n") == 13


def test_json_for_a_terminal_without_the_letters(folder, monkeypatch, capsys):
    Path("source.csv").write_text(SOURCE.replace(",staff", ",员工😀"))
    for command in (f"{LABEL} -o out.csv --json --force", f"{DIAGNOSE} --json"):
        out = io.BytesIO()
        assert run_main(monkeypatch, capsys, command, stdout=io.TextIOWrapper(out, "cp1252"))[0] == 0
        assert "员工😀" in json.dumps(json.loads(out.getvalue().decode("cp1252")), ensure_ascii=False)
    assert run_main(monkeypatch, capsys, DIAGNOSE, stdout=io.TextIOWrapper(io.BytesIO(), "ascii"))[0] == 0


def test_files_whose_names_are_not_utf_8_are_named_to_any_terminal(folder, monkeypatch, capsys):
    name = os.fsdecode(b"caf\xe9")
    try:
        os.rename("source.csv", f"{name}.csv")
    except (OSError, UnicodeError):
        pytest.skip("this file system takes no such name")
    out = io.BytesIO()
    line = f"label {name}.csv target.csv --method nbc -o {name}.jsonl --json"
    assert run_main(monkeypatch, capsys, line, stdout=io.TextIOWrapper(out, "ascii"))[0] == 0
    assert json.loads(out.getvalue())["files"][0].endswith(".jsonl")


# Devices and files of others


def test_devices_stay_devices(folder):
    os.mkfifo("page")
    got = []
    reader = threading.Thread(target=lambda: got.append(Path("page").read_text("utf-8")))
    reader.start()
    assert run_command(f"{LABEL} -o /dev/null --report page --save model --force".split()) == 0
    reader.join()
    assert Path("page").is_fifo()
    assert got[0].rstrip().endswith("</html>")
    assert not Path("/dev/run.json").exists()
    assert run_command(f"{CLUSTER} -o /dev/null --report /dev/null --save /dev/null".split()) == 0
    assert Path("/dev/null").is_char_device()


def test_reports_and_models_obey_the_mask(folder):
    before = os.umask(0o077)
    try:
        assert run_command(f"{LABEL} -o out.csv --report page.html --save model".split()) == 0
    finally:
        os.umask(before)
    for name in ("out.csv", "page.html", "model", "run.json"):
        assert (folder / name).stat().st_mode & 0o777 == 0o600, name
