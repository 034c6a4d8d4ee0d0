"""Odd inputs, drawn from a seed: bytes to read, values to write, texts, labels and arrays."""

import datetime
import decimal
import gzip
import io
import json
import math

import numpy as np
import polars as pl
import scipy.sparse as sp

WORDS = [
    "staff",
    "price",
    "kind",
    "rude",
    "bill",
    "cheap",
    "engine",
    "brake",
    "desk",
    "sedan",
    "friendly",
    "paid",
    "helped",
    "loud",
    "invoice",
    "wrong",
]
ODD_TEXTS = [
    "",
    " ",
    "\t",
    "\n\n",
    "a",
    "=1+1",
    "'=x",
    "-1",
    "@x",
    "NaN",
    "null",
    "None",
    "0",
    "１２",
    "\u200b",
    "\ufeff",
    "\ud800",
    "e\u0301" * 20,
    "ﷺ" * 50,
    "İ" * 30,
    "ß",
    "\x00",
    "\x1b[31m",
    "\u202e",
    "日本語の文章",
    "股票市场上涨",
    "🙂" * 200,
    "<script>alert(1)</script>",
    "{{7*7}}",
    "a" * 5_000,
    "staff " * 3_000,
    "\\",
    '"',
    "''",
    "a,b;c\td|e",
    "\r",
    "\u2028",
    "http://x.y/?a=b&c=d",
    "1e400",
]
ODD_VALUES = [
    None,
    "",
    "x",
    0,
    -1,
    2**53 + 1,
    10**400,
    1.5,
    math.nan,
    math.inf,
    -0.0,
    True,
    b"\xff\x00",
    datetime.date(2024, 1, 2),
    datetime.datetime(2024, 1, 2, 3, 4),
    datetime.timedelta(1),
    decimal.Decimal("1.10"),
    [1, None, "x"],
    {"a": [1]},
    [],
    [math.nan],
    ["\ud800"],
    {1: 2},
    np.float32(1.5),
    np.int64(3),
    np.arange(3),
    (1,),
    "x" * 40_000,
    "=1+1",
    "\n=1",
]


def text(rng):
    """A text of known words, sometimes with something odd in it."""
    chosen = " ".join(rng.choices(WORDS, k=rng.randint(1, 12)))
    if rng.random() < 0.25:
        odd = rng.choice(ODD_TEXTS)
        return rng.choice([odd, f"{chosen} {odd}", f"{odd}{chosen}"])
    return chosen


def label(rng, i):
    """A label; mostly one of two."""
    return ["staff", "price"][i % 2] if rng.random() < 0.9 else rng.choice([*ODD_TEXTS, None, "x" * 5_000])


def table_rows(rng, n=None):
    """Rows of a table with an id, a text, a label and something more."""
    n = rng.randint(0, 30) if n is None else n
    return [{"id": i, "text": text(rng), "label": label(rng, i), "more": rng.choice(ODD_TEXTS)} for i in range(n)]


def as_csv(rows, rng):
    """Bytes of a csv, tsv or the like, more or less well made."""
    delimiter = rng.choice([",", ";", "\t", "|"])
    quote = rng.choice(['"', "'", ""])
    lines = [delimiter.join(rows[0])] if rows else ["text,label"]
    for row in rows:
        cells = [str(value) if value is not None else "" for value in row.values()]
        lines.append(
            delimiter.join(f"{quote}{cell.replace(quote, quote * 2) if quote else cell}{quote}" for cell in cells)
        )
    encoding = rng.choice(["utf-8", "utf-8-sig", "utf-16", "cp1252", "gb18030", "latin-1", "utf-32"])
    return rng.choice(["\n", "\r\n", "\r"]).join(lines).encode(encoding, "replace")


def as_jsonl(rows, rng):
    """Bytes of JSON lines, or of an array."""
    lines = [json.dumps(row, ensure_ascii=rng.random() < 0.5).encode("utf-8", "replace") for row in rows]
    return b"[" + b",".join(lines) + b"]" if rng.random() < 0.3 else b"\n".join(lines)


def as_parquet(rows, rng):
    """Bytes of a parquet file with plain and nested columns."""
    out, n = io.BytesIO(), max(1, len(rows))
    frame = {
        "text": [str(row["text"]).encode("utf-8", "replace").decode() for row in rows] or ["a"],
        "n": list(range(n)),
        "l": [[1, 2]] * n,
        "s": [{"a": datetime.date(2024, 1, 1)}] * n,
        "b": [b"\xff"] * n,
    }
    pl.DataFrame(frame).write_parquet(out, compression=rng.choice(["zstd", "uncompressed", "snappy"]))
    return out.getvalue()


def as_xlsx(rows, rng):
    """Bytes of a workbook."""
    import xlsxwriter

    out = io.BytesIO()
    with xlsxwriter.Workbook(out, {"in_memory": True}) as book:
        sheet = book.add_worksheet()
        for i, row in enumerate([{"text": "text", "label": "label"}, *rows]):
            for j, value in enumerate(row.values()):
                sheet.write_string(i, j, str(value)[:1000].encode("utf-8", "replace").decode())
    return out.getvalue()


def damaged(data, rng):
    """The bytes with some cut out, doubled, flipped or put in; sometimes as they are."""
    data = bytearray(data)
    for _ in range(rng.choice([0, 1, 1, 2, 4, 16])):
        if not data:
            break
        at, size = rng.randrange(len(data)), rng.choice([1, 1, 2, 8, 200])
        kind = rng.randrange(6)
        if kind == 0:
            del data[at : at + size]
        elif kind == 1:
            data[at:at] = data[at : at + size]
        elif kind == 2:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 3:
            data[at : at + size] = bytes(rng.choices([0, 255, 34, 44, 10, 13, 0x80, 0xED], k=size))
        elif kind == 4:
            data[at:at] = rng.choice(ODD_TEXTS).encode("utf-8", "surrogatepass")
        else:
            del data[at:]
    return bytes(data)


def packed(data, rng):
    """Sometimes as gzip, sometimes damaged once more."""
    if rng.random() < 0.2:
        data = gzip.compress(data, mtime=0)
        data = damaged(data, rng) if rng.random() < 0.5 else data
    return data


def odd_matrix(rng, n):
    """Rows that a person might hand over: sparse or dense, odd values, odd shapes, odd types."""
    seeds = np.random.default_rng(rng.randrange(2**32))
    d = rng.choice([1, 2, 5, 20, 20, 20])
    X = seeds.integers(0, 4, (n, d)).astype(float) * (seeds.random((n, d)) < 0.4)
    odd = rng.random()
    if odd < 0.25 and X.size:
        values = [0, -1.0, np.nan, np.inf, 1e300, -1e300, 1e-300, 5e-324, 2**60, 1e20]
        X[rng.randrange(n) if n else 0, rng.randrange(d)] = rng.choice(values)
    elif odd < 0.35:
        X[:] = rng.choice([0, 1, 1e100])
    forms = [
        lambda: X,
        lambda: sp.csr_matrix(X),
        lambda: sp.csc_array(X),
        lambda: sp.coo_matrix(X),
        lambda: X.astype(np.float32),
        lambda: X.tolist(),
        lambda: X.astype(object),
        lambda: X.astype(complex),
        lambda: X[0] if n else X,
        lambda: X[:, :0],
        lambda: sp.csr_matrix((np.r_[X[X != 0], X[X != 0]], np.tile(np.array(np.nonzero(X)), 2)), shape=X.shape),
        lambda: [text(rng) for _ in range(n)],
        lambda: X.astype(str),
        lambda: None,
        lambda: "x",
        lambda: X.astype("datetime64[s]"),
        lambda: np.asfortranarray(X),
        lambda: X[None],
        lambda: sp.csr_matrix((n, 5_000)),
        lambda: sp.dok_matrix(X),
    ]
    weights = [8, 8, 2, 2, 2, 2, 1, 1, 1, 1, 3, 3, 1, 1, 1, 1, 2, 1, 1, 1]
    return rng.choices(forms, weights)[0]()


def odd_labels(rng, n):
    """Labels that a person might hand over."""
    plain = [["a", "b"][i % 2] for i in range(n)]
    half = [value if i < n // 2 else None for i, value in enumerate(plain)]
    forms = [
        lambda: plain,
        lambda: half,
        lambda: np.array(plain),
        lambda: np.array(half, dtype=object),
        lambda: [i % 2 for i in range(n)],
        lambda: [i % 2 if i < n // 2 else -1 for i in range(n)],
        lambda: tuple(plain),
        lambda: plain[:-1],
        lambda: [*plain, "a"],
        lambda: ["a"] * n,
        lambda: [None] * n,
        lambda: [1.5, 2.5] * (n // 2),
        lambda: [math.nan] * n,
        lambda: [(1, 2)] * n,
        lambda: [[1], [2, 3]] * (n // 2),
        lambda: np.array(plain)[:, None],
        lambda: np.array(3),
        lambda: None,
        lambda: "abc",
        lambda: [1 + 2j] * n,
        lambda: [b"a", b"b"] * (n // 2),
        lambda: [True, False] * (n // 2),
        lambda: {"a": 1},
        lambda: [datetime.date(2024, 1, 1 + i % 2) for i in range(n)],
        lambda: ["a", 1] * (n // 2),
        lambda: [object() for _ in range(n)],
        lambda: ["x" * 10_000, "y"] * (n // 2),
        lambda: np.array(plain).reshape(1, -1),
        lambda: [np.inf, 1.0] * (n // 2),
        lambda: iter(plain),
    ]
    return rng.choices(forms, [6, 8, 4, 6, 4, 6] + [1] * (len(forms) - 6))[0]()


def odd_domain(rng, n):
    """Domains that a person might hand over; mostly none, or the first half as source."""
    half = [1 if i < n // 2 else -1 for i in range(n)]
    forms = [
        lambda: None,
        lambda: half,
        lambda: np.array(half),
        lambda: [2**70] * n,
        lambda: np.zeros(n),
        lambda: half[:-1],
        lambda: ["s"] * n,
        lambda: np.array(half, dtype=float),
        lambda: [1] * n,
        lambda: [-1] * n,
        lambda: np.array(half)[:, None],
        lambda: [math.nan] * n,
        lambda: [2**62 if v > 0 else -(2**63) for v in half],
        lambda: [None] * n,
        lambda: np.array(half) * (1 + np.arange(n)),
        lambda: 1,
    ]
    return rng.choices(forms, [8, 8, 6] + [1] * (len(forms) - 3))[0]()
