"""Folders given as input: links that lead out of them are refused, links that stay inside are read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from isthmus.corpus import read_collection
from isthmus.corpus.folders import list_files
from isthmus.corpus.shards import find_shards
from isthmus.exceptions import DataError

TABLE = "text,label\nsecret,a\n"


@pytest.fixture
def texts(tmp_path):
    """A folder of texts next to a folder that nobody named."""
    for place, content in {
        "given/staff/1.txt": "kind people",
        "other/secret.txt": "secret",
        "other/s.csv": TABLE,
    }.items():
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(content, encoding="utf-8")
    return tmp_path / "given"


def link_file_out(folder: Path) -> None:
    (folder / "staff" / "2.txt").symlink_to(folder.parent / "other" / "secret.txt")


def link_file_out_by_relative_path(folder: Path) -> None:
    (folder / "staff" / "2.txt").symlink_to("../../other/secret.txt")


def link_folder_out(folder: Path) -> None:
    (folder / "price").symlink_to(folder.parent / "other", target_is_directory=True)


def link_to_a_link_out(folder: Path) -> None:
    """The chain begins inside; its hidden second link would not be listed by itself."""
    (folder / ".second").symlink_to("../other/secret.txt")
    (folder / "staff" / "2.txt").symlink_to("../.second")


def link_below_a_linked_folder(folder: Path) -> None:
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "again").symlink_to("deep", target_is_directory=True)
    (folder / "deep" / "er" / "2.txt").symlink_to("../../../other/secret.txt")


def link_to_nothing_outside(folder: Path) -> None:
    (folder / "staff" / "2.txt").symlink_to("../../other/not-there.txt")


def link_to_the_folder_above(folder: Path) -> None:
    (folder / "staff" / "up").symlink_to("../..", target_is_directory=True)


def link_to_a_similar_name(folder: Path) -> None:
    """``given-more`` begins with the name of the folder and is not inside it."""
    (folder.parent / "given-more").mkdir()
    (folder.parent / "given-more" / "2.txt").write_text("secret", encoding="utf-8")
    (folder / "staff" / "2.txt").symlink_to("../../given-more/2.txt")


@pytest.mark.parametrize(
    "link",
    [
        link_file_out,
        link_file_out_by_relative_path,
        link_folder_out,
        link_to_a_link_out,
        link_below_a_linked_folder,
        link_to_nothing_outside,
        link_to_the_folder_above,
        link_to_a_similar_name,
    ],
)
def test_a_link_out_of_a_folder_is_refused(texts, link):
    link(texts)
    with pytest.raises(DataError) as error:
        read_collection(texts)
    assert error.value.code == "outside-folder"


@pytest.mark.parametrize("target", ["not-there.txt", "2.txt"])
def test_a_link_inside_that_leads_to_no_file_is_refused(texts, target):
    """The second target makes the link a circle."""
    (texts / "staff" / "2.txt").symlink_to(target)
    with pytest.raises(DataError) as error:
        read_collection(texts)
    assert error.value.code == "missing-file"


def test_links_that_stay_inside_are_read_and_linked_folders_are_not_read_twice(texts):
    (texts / "price").mkdir()
    (texts / "price" / "2.txt").symlink_to("../staff/1.txt")
    (texts / "again").symlink_to("staff", target_is_directory=True)
    docs = read_collection(texts)
    assert docs.ids == ["price/2.txt", "staff/1.txt"]
    assert docs.texts == ["kind people"] * 2


def test_the_folder_that_is_named_may_be_a_link(texts):
    named = texts.parent / "named"
    named.symlink_to(texts, target_is_directory=True)
    (texts / "staff" / "2.txt").symlink_to("1.txt")
    assert read_collection(named).ids == ["staff/1.txt", "staff/2.txt"]
    assert [path.name for path in list_files(named)] == ["1.txt", "2.txt"]


def test_hidden_links_are_ignored_like_hidden_files(texts):
    (texts / ".cache").symlink_to("../other", target_is_directory=True)
    assert read_collection(texts).ids == ["staff/1.txt"]


@pytest.mark.parametrize("source", ["given", "given/*.csv", "given/**/*.csv", "given/part*/s.csv"])
def test_tables_behind_links_out_of_a_folder_are_refused(texts, monkeypatch, source):
    monkeypatch.chdir(texts.parent)
    (texts / "a.csv").write_text(TABLE, encoding="utf-8")
    (texts / "part1").symlink_to("../other", target_is_directory=True)
    (texts / "s.csv").symlink_to("../other/s.csv")
    with pytest.raises(DataError) as error:
        find_shards(source)
    assert error.value.code == "outside-folder"


def test_tables_behind_links_that_stay_inside_are_read(texts, monkeypatch):
    monkeypatch.chdir(texts.parent)
    (texts / "a.csv").write_text(TABLE, encoding="utf-8")
    (texts / "b.csv").symlink_to("a.csv")
    (texts.parent / "named").symlink_to(texts, target_is_directory=True)
    assert find_shards("given") == ["given/a.csv", "given/b.csv"]
    assert find_shards("named/*.csv") == ["named/a.csv", "named/b.csv"]
    (texts.parent / "link.csv").symlink_to("other/s.csv")
    assert find_shards("link.csv") == ["link.csv"], "a link that the user named is a file"


def test_the_command_refuses_in_one_sentence_and_writes_nothing(texts):
    link_file_out(texts)
    command = [sys.executable, "-m", "isthmus", "convert", str(texts), str(texts.parent / "out.csv")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "outside-folder" in done.stderr
    assert not (texts.parent / "out.csv").exists()
