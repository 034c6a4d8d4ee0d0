"""Every page answers, teaches where it is empty, and changes what it says it changes."""

import io
import re

import pytest

PAGES = (
    "", "/data", "/diagnosis", "/runs", "/documents", "/groups", "/review", "/words", "/check", "/compare", "/export",
    "/history",
)  # fmt: skip


@pytest.mark.parametrize("part", PAGES)
def test_every_page_of_a_labelled_project(client, project, part):
    page = client.get(f"/projects/{project.id}{part}")
    assert page.status_code == 200
    assert "<h1" in page.text
    assert page.headers["content-security-policy"].startswith("default-src 'none'")


def test_one_link_at_the_side_is_the_page_one_is_on(client, project, run):
    """A page further in, of one run say, belongs to the link above it; the overview holds no page but itself."""
    start = f"/projects/{project.id}"
    for address, link in [*((part, part) for part in PAGES), (f"/runs/{run.id}", "/runs")]:
        page = client.get(start + address).text
        assert re.findall(r'<a href="([^"]*)" aria-current="page"', page) == [start + link]


def test_the_bars_of_labels_are_shares_of_the_largest_class(client, workspace, project):
    source = next(row for row in workspace.collections.list(project.id) if row.kind == "source")
    counts = sorted(source.facts["classes"].values(), reverse=True)
    assert counts[0] > counts[-1]
    page = client.get(f"/projects/{project.id}/data/{source.id}").text
    labels = page.split("<h2>Labels</h2>")[1].split("</table>")[0]
    widths = [float(width) for width in re.findall(r'class="mark" width="([\d.]+)"', labels)]
    assert widths == pytest.approx([100 * n / counts[0] for n in counts], abs=0.1)


@pytest.fixture(scope="module")
def beginner(serve, empty_workspace):
    return serve(empty_workspace).client()


@pytest.mark.parametrize("part", PAGES)
def test_every_page_of_an_empty_project_says_what_to_do(beginner, part):
    client = beginner
    project = client.post("/api/projects", json={"name": "Empty"}).json()["id"]
    page = client.get(f"/projects/{project}{part}")
    assert page.status_code == 200
    if part not in ("", "/history", "/words"):
        assert 'class="empty"' in page.text


def test_the_target_that_came_last_is_offered_first(client, workspace, untouched):
    project, _ = untouched
    by = workspace.people.local().id
    rows = b"id,comment\n" + b"".join(b"n%d,the new clerk was kind %d times\n" % (i, i) for i in range(30))
    later = workspace.collections.add(project.id, "newer.csv", io.BytesIO(rows), kind="target", by=by)
    workspace.collections.map(later.id, text=["comment"], id_column="id", by=by)
    choice = re.search(
        r'<select[^>]*name="target".*?</select>', client.get(f"/projects/{project.id}/runs").text, re.DOTALL
    )
    assert re.findall(r"(\w+\.csv)", choice[0]) == ["newer.csv", "cars.csv"]
