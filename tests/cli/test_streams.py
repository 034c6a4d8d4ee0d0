"""Standard output and error that are full, closed, narrow or left: a sentence and an exit code, no traceback."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX shells, pipes and devices")

ROWS = [("the staff was friendly", "staff"), ("the price was high", "price"), ("rude staff there", "staff")] * 4
SOURCE = "id,comment,category\n" + "".join(f"{i},{text},{label}\n" for i, (text, label) in enumerate(ROWS))
TARGET = "id,comment\n" + "".join(f"{i},{text} today\n" for i, (text, _) in enumerate(ROWS))
ISTHMUS = f"{sys.executable} -m isthmus"
LABEL = f"{ISTHMUS} label source.csv target.csv --method nbc"
CLUSTER = f"{ISTHMUS} cluster source.csv target.csv --clusters 2"
DIAGNOSE = f"{ISTHMUS} diagnose source.csv target.csv"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "source.csv").write_text(SOURCE)
    (tmp_path / "target.csv").write_text(TARGET)
    return tmp_path


def shell(folder, line, **environment):
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        timeout=300,
        check=False,
    )
    said = done.stderr.decode("utf-8", "replace")
    assert "Traceback" not in said
    assert "Exception ignored" not in said
    return done.returncode, done.stdout, said


@pytest.mark.parametrize("unbuffered", ["1", ""], ids=["unbuffered", "buffered"])
@pytest.mark.parametrize(
    "command", [LABEL, CLUSTER, f"{DIAGNOSE} --json", DIAGNOSE], ids=["label", "cluster", "json", "diagnose"]
)
def test_a_full_disk_is_told(folder, command, unbuffered):
    code, _, said = shell(folder, f"{command} > /dev/full", PYTHONUNBUFFERED=unbuffered, TMPDIR=str(folder))
    assert code == 1
    assert "No space left" in said
    assert said.strip().endswith("[output-unwritable]")  # buffered or not


@pytest.mark.parametrize("unbuffered", ["1", ""], ids=["unbuffered", "buffered"])
def test_a_limit_on_the_size_of_files_cuts_nothing_off_in_silence(folder, unbuffered):
    code, _, said = shell(folder, f"ulimit -f 1; {DIAGNOSE} --json --quiet > out.json", PYTHONUNBUFFERED=unbuffered)
    assert (folder / "out.json").stat().st_size <= 1024
    assert code == 1
    assert "File too large" in said


def test_labels_that_cannot_be_written_are_kept_elsewhere(folder):
    code, _, said = shell(folder, f"{LABEL} > /dev/full", TMPDIR=str(folder))
    assert code == 1
    kept = folder / "isthmus.kept.csv"
    assert str(kept) in said
    assert kept.read_text().startswith("id,label,confidence,needs_review,novel_group\n0,")
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
        f"{ISTHMUS} data list",
        f"{ISTHMUS} --version",
    ],
    ids=["label", "cluster", "diagnose", "diagnose json", "label json", "cluster json", "data", "version"],
)
def test_closed_output_is_refused_before_the_work(folder, command):
    code, _, said = shell(folder, f"{command} >&-")
    assert code == 1
    assert said.strip().splitlines()[-1].startswith("isthmus: Standard output is closed")
    assert len(said.splitlines()) == 1
    assert not (folder / "out.csv").exists()


def test_a_reader_of_the_talk_who_leaves_does_not_stop_the_work(folder):
    code, out, _ = shell(folder, f"{LABEL} -o out.csv 2>&1 | head -1")
    assert code == 0
    assert out
    assert len((folder / "out.csv").read_text().splitlines()) == 13
    assert json.loads((folder / "run.json").read_text())["output"] == "out.csv"


def test_closed_standard_error(folder):
    code, out, _ = shell(folder, f"{LABEL} 2>&-")
    assert code == 0
    assert out.count(b"\n") == 13


def test_json_for_a_terminal_without_the_letters(folder):
    (folder / "source.csv").write_text(SOURCE.replace(",staff", ",员工😀"))
    for command in (f"{LABEL} -o out.csv --json --force", f"{DIAGNOSE} --json"):
        code, out, _ = shell(folder, command, PYTHONIOENCODING="cp1252")
        assert code == 0
        assert "员工😀" in json.dumps(json.loads(out.decode("cp1252")), ensure_ascii=False)
    assert shell(folder, DIAGNOSE, PYTHONIOENCODING="ascii")[0] == 0


# Devices and files of others


def test_devices_stay_devices(folder):
    os.mkfifo(folder / "page")
    line = f"cat page > got & {LABEL} -o /dev/null --report page --save model --force && wait"
    code, _, said = shell(folder, line)
    assert code == 0, said
    assert (folder / "page").is_fifo()
    assert (folder / "got").read_text().rstrip().endswith("</html>")
    assert not Path("/dev/run.json").exists()
    code, _, _ = shell(folder, f"{CLUSTER} -o /dev/null --report /dev/null --save /dev/null")
    assert code == 0
    assert Path("/dev/null").is_char_device()


def test_reports_and_models_obey_the_mask(folder):
    code, _, _ = shell(folder, f"umask 077; {LABEL} -o out.csv --report page.html --save model")
    assert code == 0
    for name in ("out.csv", "page.html", "model", "run.json"):
        assert (folder / name).stat().st_mode & 0o777 == 0o600, name
