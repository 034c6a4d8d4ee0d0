"""Limits come before the work: what was read or unpacked when the refusal comes."""

import zipfile

import pytest

import isthmus
from isthmus.exceptions import DataError


@pytest.fixture
def unpacked(monkeypatch):
    """Bytes that came out of archives."""
    sizes = []
    read = zipfile.ZipExtFile.read

    def counting(self, n=-1):
        data = read(self, n)
        sizes.append(len(data))
        return data

    monkeypatch.setattr(zipfile.ZipExtFile, "read", counting)
    return sizes


@pytest.mark.parametrize("entry", ["isthmus.json", "0.npy", "more.npy"])
def test_a_saved_file_is_refused_before_it_is_unpacked(tmp_path, monkeypatch, unpacked, entry):
    source = ["kind staff", "great bike", "polite staff", "fast bike"]
    path = isthmus.label(source, ["staff", "product"] * 2, ["rude staff", "slow bike"], method="nbc").save(
        tmp_path / "m"
    )
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts[entry] = b"x" * 3_000_000
    bomb = tmp_path / "bomb"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, value in parts.items():
            archive.writestr(key, value)
    monkeypatch.setenv("ISTHMUS_MAX_UNPACKED", "1000000")
    del unpacked[:]
    with pytest.raises(DataError) as caught:
        isthmus.load(bomb)
    assert caught.value.code == "too-large"
    assert sum(unpacked) < 100_000
