"""Helpers of this folder are importable by name; a folder in which commands ran is made once and copied for a test."""

import contextlib
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def ran_once(tmp_path_factory):
    """The folder in which a function ran, with that folder as the working folder; a function runs once."""
    folders = {}

    def folder_of(prepare):
        if prepare not in folders:
            folders[prepare] = tmp_path_factory.mktemp(prepare.__name__)
            with contextlib.chdir(folders[prepare]):
                prepare()
        return folders[prepare]

    return folder_of


@pytest.fixture
def enter_copy(ran_once, tmp_path, monkeypatch):
    """Work in a copy of the folder in which a function ran."""

    def enter(prepare):
        shutil.copytree(ran_once(prepare), tmp_path, dirs_exist_ok=True)
        monkeypatch.chdir(tmp_path)
        return tmp_path

    return enter
