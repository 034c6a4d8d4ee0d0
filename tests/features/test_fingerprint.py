"""Vectors are kept by a fingerprint of the model's files: it changes with whatever changes in them."""

import pytest

from isthmus.features.embeddings import folder_fingerprint


@pytest.mark.parametrize("size", [10, 100_000, 300_000])
@pytest.mark.parametrize("place", [0, -1])
def test_a_byte_at_either_end_changes_the_fingerprint(tmp_path, size, place):
    content = bytearray(size)
    (tmp_path / "model.safetensors").write_bytes(content)
    before = folder_fingerprint(tmp_path)
    assert folder_fingerprint(tmp_path) == before
    content[place] = 1
    (tmp_path / "model.safetensors").write_bytes(content)
    assert folder_fingerprint(tmp_path) != before


def test_names_and_further_files_count(tmp_path):
    (tmp_path / "a.json").write_bytes(b"{}")
    seen = {folder_fingerprint(tmp_path)}
    (tmp_path / "a.json").rename(tmp_path / "b.json")
    seen.add(folder_fingerprint(tmp_path))
    (tmp_path / "vocab").mkdir()
    (tmp_path / "vocab" / "words.txt").write_bytes(b"one")
    seen.add(folder_fingerprint(tmp_path))
    assert len(seen) == 3


def test_what_is_no_part_of_a_model_does_not_count(tmp_path):
    (tmp_path / "a.json").write_bytes(b"{}")
    before = folder_fingerprint(tmp_path)
    (tmp_path / "README.md").write_bytes(b"one")
    (tmp_path / "folder.json").mkdir()
    assert folder_fingerprint(tmp_path) == before
