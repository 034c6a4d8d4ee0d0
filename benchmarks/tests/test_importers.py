"""Importers, on tiny archives in the layout of the originals with the quirks that these are known for."""

import io
import tarfile
import zipfile

import pytest

from isthmus.exceptions import DataError, IsthmusError
from isthmus_bench.datasets import load_dataset
from isthmus_bench.importers import import_dataset, import_records

NEWSGROUPS = {
    "20news-bydate-test/alt.atheism/53068": b"From: x@y\nSubject: Re: q\n\nlater\n",
    "20news-bydate-train/alt.atheism/51060": b"From: a@b (\xc9mile)\r\nSubject: caf\xe9\r\n\r\nbody\x08\x1bend\tx\r\n",
    "20news-bydate-train/alt.atheism/9966": b"From: c@d\nSubject: s\n\n",
    "20news-bydate-train/comp.graphics/37261": b"From: e\n\nFF \xff",
    "20news-bydate-train/.DS_Store": b"\x00",
    "README": b"not a message",
}

REUTERS = {
    "reut2-000.sgm": b"""<!DOCTYPE lewis SYSTEM "lewis.dtd">
<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" CGISPLIT="TRAINING-SET" OLDID="5544" NEWID="1">
<DATE>26-FEB-1987 15:01:01.79</DATE>
<TOPICS><D>cocoa</D></TOPICS>
<PLACES><D>el-salvador</D><D>usa</D></PLACES>
<PEOPLE></PEOPLE>
<ORGS></ORGS>
<EXCHANGES></EXCHANGES>
<COMPANIES></COMPANIES>
<UNKNOWN>
&#5;&#5;&#5;C T
&#22;&#22;&#1;f0704&#31;reute
</UNKNOWN>
<TEXT>&#2;
<TITLE>BAHIA COCOA &lt;REVIEW></TITLE>
<DATELINE>    SALVADOR, Feb 26 - </DATELINE><BODY>Smith & Co &lt;SMC> said
R&D rose &amp; fell.
 Reuter
&#3;</BODY></TEXT>
</REUTERS>
<REUTERS TOPICS="NO" LEWISSPLIT="TEST" CGISPLIT="TRAINING-SET" OLDID="5545" NEWID="2">
<DATE>26-FEB-1987 15:02:20.00&#5;&#5;F</DATE>
<TOPICS></TOPICS>
<PLACES><D>usa</D></PLACES>
<PEOPLE><D>volcker</D></PEOPLE>
<ORGS><D>imf</D></ORGS>
<EXCHANGES><D>nyse</D></EXCHANGES>
<TEXT TYPE="BRIEF">&#2;
******<TITLE>FED BUYS 1.5 BILLION DLRS, FED SAYS
</TITLE>Blah blah blah.
&#3;
</TEXT>
</REUTERS>
""",
    "reut2-001.sgm": b"""<!DOCTYPE lewis SYSTEM "lewis.dtd">
<REUTERS TOPICS="BYPASS" LEWISSPLIT="NOT-USED" CGISPLIT="PUBLISHED-TESTSET" OLDID="1" NEWID="1001">
<DATE> 3-MAR-1987 09:17:32.30</DATE>
<TOPICS><D>acq</D><D>earn</D></TOPICS>
<PLACES></PLACES>
<TEXT TYPE="UNPROC">&#2;
 RAW \xfc TEXT
  all of it
&#3;
</TEXT>
</REUTERS>
""",
    "lewis.dtd": b"<!ELEMENT lewis (REUTERS)>",
}


def review(asin, text, title="Good", rating="5.0"):
    return f"""<review>
<unique_id>
{asin}:x
</unique_id>
<asin>
{asin}
</asin>
<product_name>
Soup & Nuts: Books: A. <Writer>
</product_name>
<helpful>
1 of 2
</helpful>
<rating>
{rating}
</rating>
<title>
{title}
</title>
<reviewer>
somebody
</reviewer>
<review_text>
{text}
</review_text>
</review>
"""


AMAZON = {
    "sorted_data_acl/kitchen_&_housewares/negative.review": review(
        "k1", "It <b>broke</b> & died", "Bad", "1.0"
    ).encode(),
    "sorted_data_acl/books/negative.review": review("b3", "caf\x1a was &quot;bad&quot;&amp;dull", rating="").encode(),
    "sorted_data_acl/books/positive.review": (
        review("b1", "A great read!\n\nReally.")
        + review("b2", "a GREAT read -- really")
        + "<review>\n<asin>\nb4\n</asin>\n</review>\n"
    ).encode(),
    "sorted_data_acl/books/unlabeled.review": review("u1", "leave me out").encode(),
}

SRAA = {
    "sraa/realauto/100": b"From: x\n\nmy car",
    "sraa/realaviation/7": b"plane caf\xe9",
    "sraa/simauto/8": b"racing sim",
    "sraa/simaviation/9": b"flight sim",
    "sraa/README": b"about",
}

ARCHIVES = {"newsgroups20": NEWSGROUPS, "reuters21578": REUTERS, "amazon_reviews": AMAZON, "sraa": SRAA}


def as_folder(root, files):
    for place, data in files.items():
        path = root / "unpacked" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root / "unpacked"


def as_tar(root, files):
    path = root / "archive.tar.gz"
    with tarfile.open(path, "w:gz") as box:
        for place, data in files.items():
            item = tarfile.TarInfo("./" + place)
            item.size = len(data)
            box.addfile(item, io.BytesIO(data))
    return path


def as_zip(root, files):
    path = root / "archive.zip"
    with zipfile.ZipFile(path, "w") as box:
        for place, data in files.items():
            box.writestr(place, data)
    return path


@pytest.mark.parametrize("name", ARCHIVES)
def test_folder_tar_and_zip_agree_and_load(tmp_path, name):
    records = list(import_records(name, as_folder(tmp_path, ARCHIVES[name])))
    assert records == list(import_records(name, as_tar(tmp_path, ARCHIVES[name])))
    assert records == list(import_records(name, as_zip(tmp_path, ARCHIVES[name])))
    output = tmp_path / f"{name}.jsonl.gz"
    assert import_dataset(name, tmp_path / "unpacked", output) == len(records)
    docs = load_dataset(name, tmp_path)
    assert docs.texts == [record["text"] for record in records]
    assert docs.ids == [record["id"] for record in records]


def test_newsgroups(tmp_path):
    records = list(import_records("newsgroups20", as_folder(tmp_path, NEWSGROUPS)))
    assert [(r["id"], r["split"]) for r in records] == [
        ("alt.atheism/9966", "train"),
        ("alt.atheism/51060", "train"),
        ("comp.graphics/37261", "train"),
        ("alt.atheism/53068", "test"),
    ]
    assert list(records[0]) == ["id", "text", "label", "domain", "split"]
    assert records[1]["text"] == "From: a@b (Émile)\nSubject: café\n\nbody  end\tx\n"
    assert records[2]["text"].endswith("ÿ")
    assert (records[2]["label"], records[2]["domain"]) == ("comp.graphics", "comp")


def test_reuters(tmp_path):
    first, brief, raw = import_records("reuters21578", as_folder(tmp_path, REUTERS))
    assert first == {
        "id": "1",
        "text": "Smith & Co <SMC> said\nR&D rose & fell.\n Reuter",
        "label": "cocoa",
        "domain": "reuters",
        "title": "BAHIA COCOA <REVIEW>",
        "topics": ["cocoa"],
        "places": ["el-salvador", "usa"],
        "people": [],
        "orgs": [],
        "exchanges": [],
        "lewissplit": "TRAIN",
        "topics_attr": "YES",
        "cgisplit": "TRAINING-SET",
        "type": "NORM",
        "date": "26-FEB-1987 15:01:01.79",
    }
    assert (brief["type"], brief["text"], brief["label"]) == ("BRIEF", "", "")
    assert brief["title"] == "FED BUYS 1.5 BILLION DLRS, FED SAYS"
    assert brief["date"] == "26-FEB-1987 15:02:20.00&#5;&#5;F"
    assert (brief["people"], brief["orgs"], brief["exchanges"]) == (["volcker"], ["imf"], ["nyse"])
    assert (raw["type"], raw["title"], raw["text"]) == ("UNPROC", "", "RAW ü TEXT\n  all of it")
    assert (raw["label"], raw["topics"], raw["orgs"]) == ("", ["acq", "earn"], [])
    assert raw["date"] == "3-MAR-1987 09:17:32.30"
    assert list(first) == list(brief) == list(raw)


def test_amazon(tmp_path):
    records = list(import_records("amazon_reviews", as_folder(tmp_path, AMAZON)))
    assert [r["id"] for r in records] == [
        "books-positive-0000",
        "books-positive-0001",
        "books-positive-0002",
        "books-negative-0000",
        "kitchen-negative-0000",
    ]
    assert records[0] == {
        "id": "books-positive-0000",
        "text": "A great read!\n\nReally.",
        "label": "positive",
        "domain": "books",
        "title": "Good",
        "rating": 5.0,
        "product": "Soup & Nuts: Books: A. <Writer>",
        "asin": "b1",
    }
    assert records[1]["dup_of"] == "books-positive-0000"
    assert (records[2]["text"], records[2]["rating"]) == ("", None)
    assert "dup_of" not in records[2]
    assert records[3]["text"] == 'caf\ufffd was "bad"&dull'
    assert records[4]["text"] == "It <b>broke</b> & died"


def test_sraa(tmp_path):
    records = list(import_records("sraa", as_folder(tmp_path, SRAA)))
    assert [(r["label"], r["domain"], r["group"]) for r in records] == [
        ("auto", "real", "realauto"),
        ("aviation", "real", "realaviation"),
        ("auto", "simulated", "simauto"),
        ("aviation", "simulated", "simaviation"),
    ]
    assert records[1]["text"] == "plane café"


def test_refusals(tmp_path):
    folder = as_folder(tmp_path, SRAA)
    cases = [
        ("enron", folder, "unknown-name"),
        ("sraa", tmp_path / "nothing", "missing-file"),
        ("reuters21578", folder, "empty-file"),
        ("sraa", folder / "sraa" / "README", "unreadable-file"),
    ]
    for name, path, code in cases:
        with pytest.raises(IsthmusError) as error:
            import_dataset(name, path, tmp_path / "out.jsonl.gz")
        assert error.value.code == code
    assert not (tmp_path / "out.jsonl.gz").exists()
    assert not list(tmp_path.glob(".out*"))


def test_a_cut_archive_is_refused(tmp_path):
    path = as_tar(tmp_path, NEWSGROUPS)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(DataError) as error:
        list(import_records("newsgroups20", path))
    assert error.value.code == "unreadable-file"
