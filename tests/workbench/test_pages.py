"""Every page answers, teaches where it is empty, and changes what it says it changes."""

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
