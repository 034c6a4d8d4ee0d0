"""Odd requests for every address that the OpenAPI description and the pages know: none may be answered with a 5xx.

Run by hand: ``python tests/workbench/fuzz_api.py --requests 5000``; a slice of it is in the suite.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from typing import Any

ODD_TEXTS = [
    "", " ", "a", "0", "-1", "null", "price", "ü\u200b", "\x00", "a\x00b", "\ud800", "𝒳" * 50, "x" * 300, "x" * 3_000,
    "'; DROP TABLE people; --", "<script>alert(1)</script>", "../../secret.key", "%00", "%", "_", "a\nb", "{{7*7}}",
    "${x}", "\u202eabc", "\ufeff", "1e309", "NaN", "label", "auto", "nbc",
]  # fmt: skip
ODD_NUMBERS = [0, 1, -1, 2, 49, 500, 501, 2**31 - 1, 2**31, 2**63, -(2**63) - 1, 10**30, 0.5, -0.0, 1e308, True, False]
ODD_VALUES = [None, [], {}, [[]], {"a": 1}, [None], ["x"], ODD_TEXTS]


class Fuzzer:
    """Requests made from the server's own description, each from a seed.

    Parameters
    ----------
    client : httpx.Client
        With the cookie and the token of a session.
    known : dict of str to list of str
        Real ids by the name of their place in an address, so that a request also gets past the front.
    pages : list of (str, str)
        Method and address of pages, which the description leaves out.
    """

    def __init__(self, client: Any, known: dict[str, list[str]], pages: list[tuple[str, str]], seed: int = 0):
        self.client, self.known, self.random = client, known, random.Random(seed)
        description = client.get("/api/openapi.json").json()
        self.schemas = description.get("components", {}).get("schemas", {})
        # A session that was ended, or a project put away, would have all later requests turned away at the door.
        ends = ("delete /api/session", "post /api/session", "delete /api/projects/{project}", "post /api/sample")
        self.calls = [
            (method.upper(), path, call)
            for path, calls in description["paths"].items()
            for method, call in calls.items()
            if f"{method} {path}" not in ends
        ] + [(method, path, {}) for method, path in pages]
        self.seen: Counter = Counter()

    def text(self) -> str:
        """A text, odd or known."""
        ids = [id for values in self.known.values() for id in values]
        return self.random.choice(ODD_TEXTS + ids if self.random.random() < 0.7 else ids)

    def value(self, schema: dict[str, Any], depth: int = 0) -> Any:
        """A value for a schema; sometimes one that does not fit."""
        if "$ref" in schema:
            schema = self.schemas.get(schema["$ref"].rpartition("/")[2], {})
        if self.random.random() < 0.12 or depth > 4:
            return self.random.choice([*ODD_VALUES, *ODD_NUMBERS, self.text()])
        for word in ("anyOf", "oneOf", "allOf"):
            if word in schema:
                return self.value(self.random.choice(schema[word]), depth + 1)
        if "enum" in schema:
            return self.random.choice(schema["enum"])
        kind = schema.get("type")
        if kind == "object":
            fields = schema.get("properties", {})
            made = {name: self.value(part, depth + 1) for name, part in fields.items() if self.random.random() < 0.85}
            return made | ({self.text(): self.text()} if self.random.random() < 0.1 else {})
        if kind == "array":
            return [self.value(schema.get("items", {}), depth + 1) for _ in range(self.random.randrange(4))]
        if kind in ("integer", "number"):
            return self.random.choice(ODD_NUMBERS)
        if kind == "boolean":
            return self.random.random() < 0.5
        return self.text()

    def address(self, path: str) -> str:
        """An address with its places filled: mostly with real ids, otherwise with anything."""
        from urllib.parse import quote

        parts = []
        for part in path.split("/"):
            if part.startswith("{"):
                name = part.strip("{}").partition(":")[0]
                real = self.known.get(name, [])
                part = self.random.choice(real) if real and self.random.random() < 0.8 else self.text()
                part = quote(part.encode("utf-8", "surrogatepass"), safe="")
            parts.append(part)
        return "/".join(parts)

    def send(self) -> tuple[str, int, str]:
        """One request: what was asked, the status, what was said."""
        method, path, call = self.random.choice(self.calls)
        query = {}
        for parameter in call.get("parameters", []):
            if parameter["in"] == "query" and self.random.random() < 0.7:
                value = self.value(parameter.get("schema", {}))
                query[parameter["name"]] = _plain(value)
        if not call:  # a page
            query = {
                name: _plain(self.text())
                for name in ("q", "after", "run", "document", "word")
                if self.random.random() < 0.3
            }
        address = self.address(path)
        options: dict[str, Any] = {"params": query} if query else {}
        content = call.get("requestBody", {}).get("content", {})
        if method in ("POST", "PATCH", "DELETE", "PUT"):
            options |= self.body(content)
        answer = self.client.request(method, address, **options)
        self.seen[answer.status_code] += 1
        return f"{method} {address} {str(options)[:400]}", answer.status_code, answer.text[:300]

    def body(self, content: dict[str, Any]) -> dict[str, Any]:
        """Something to send."""
        if "multipart/form-data" in content:
            file = self.random.choice(
                [b"", b"text,label\na b,x\nc d,y\n", b"\x00\xff" * 50, b"PK\x03\x04" + b"\x00" * 40, b"{}"]
            )
            name = self.random.choice(
                ["a.csv", "a.xlsx", "a.jsonl", "a.parquet", "a.csv.gz", "../a", "a", "", "\u202e.json"]
            )
            return {
                "files": {"file": (name, file)},
                "data": {"kind": self.random.choice(["source", "target", "", "x"])},
            }
        schema = content.get("application/json", {}).get("schema", {})
        if self.random.random() < 0.05:
            return {"content": self.random.choice([b"", b"{", b"\xff", b"[" * 5_000, b'"\\ud800"', b"1e999", b"null"]),
                    "headers": {"content-type": "application/json"}}  # fmt: skip
        made = json.dumps(self.value(schema))
        return {"content": made.encode("utf-8", "replace"), "headers": {"content-type": "application/json"}}


def _plain(value: Any) -> str:
    """A value as it can stand in an address or a form."""
    return str(value).encode("utf-8", "replace").decode()


def fuzz(
    client: Any, known: dict[str, list[str]], pages: list[tuple[str, str]], n: int, seed: int = 0
) -> tuple[list, Counter]:
    """Send ``n`` requests; those that were answered with a 5xx, and how often each status came."""
    fuzzer = Fuzzer(client, known, pages, seed)
    bad = []
    for _ in range(n):
        asked, status, said = fuzzer.send()
        if status >= 500:
            bad.append((asked, status, said))
    return bad, fuzzer.seen


def main(arguments: list[str] | None = None) -> int:
    """Over a labelled sample project in a folder of its own."""
    import tempfile
    import time
    from pathlib import Path

    sys.path.insert(0, str(Path(__file__).parent))
    import workbench_server

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder, workbench_server.open_workspace(folder) as workspace:
        workbench_server.fill(workspace, workspace.people.local().id, n=80)
        with workbench_server.Running(workspace) as server:
            started = time.perf_counter()
            bad, seen = fuzz(server.client(), known_ids(workspace), page_routes(server), options.requests, options.seed)
    for asked, status, said in bad[:20]:
        print(status, asked, said)
    statuses = ", ".join(f"{status}: {n}" for status, n in sorted(seen.items()))
    print(f"{options.requests} requests, seed {options.seed}, {time.perf_counter() - started:.0f} s; {statuses}")
    print(f"answered with a 5xx: {len(bad)}")
    return 1 if bad else 0


def known_ids(workspace: Any) -> dict[str, list[str]]:
    """Real ids of the first project."""
    project = workspace.projects.list()[0].id
    run = workspace.runs.latest(project).id
    return {
        "project": [project],
        "run": [run],
        "collection": [row.id for row in workspace.collections.list(project)],
        "document": [row.document for row in workspace.runs.predictions(run, limit=5)],
        "table": ["hero", "cards", "map", "words"],
        "check": [workspace.checks.draw(run, 10, by=workspace.people.local().id).id],
        "sample": [workspace.checks.list(run)[0].id],
    }


def page_routes(server: Any) -> list[tuple[str, str]]:
    """Method and address of every page."""
    return [("GET", route.path) for route in server.routes() if not route.path.startswith("/api")]


if __name__ == "__main__":
    sys.exit(main())
