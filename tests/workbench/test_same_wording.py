"""The pages of a run show the first screen of the report: the same figures, headline and next step."""

import re
from html import unescape

from isthmus.wording import interval


def plain(markup: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", markup)).split())


def test_the_pages_show_the_figures_and_the_next_step_of_the_report(client, workspace, project, run):
    hero = workspace.runs.table(run.id, "hero")
    right = hero["right"]
    page = plain(client.get(f"/projects/{project.id}/runs/{run.id}").text)
    start = plain(client.get(f"/projects/{project.id}").text)
    assert hero["verdict"] in page
    assert hero["next"]
    for text in (page, start):
        assert interval(right["estimate"], right["low"], right["high"]) in text
        assert hero["next"] in text
        assert not re.search(r"\d %", text)
        for row in hero["classes"]:
            assert interval(row["estimated_share"], row["low"], row["high"]) in text
