"""All addresses of the repository agree with pyproject.toml, and every action of a workflow is pinned by its hash."""

import re
import tomllib

import docs_pages as pages
import pytest

import isthmus

URLS = tomllib.loads((pages.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
OWNER = re.match(r"https://github\.com/([^/]+)/isthmus$", URLS["Source"])[1]
WORKFLOWS = sorted((pages.ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("name", ["pyproject.toml", "CITATION.cff", "README.md", "paper.md", "SECURITY.md"])
def test_addresses_of_the_repository_agree(name):
    text = (pages.ROOT / name).read_text(encoding="utf-8")
    owners = set(re.findall(r"github\.com/([^/\s\"]+)/isthmus", text)) | set(
        re.findall(r"https://([\w-]+)\.github\.io/isthmus", text)
    )
    assert owners <= {OWNER}


def test_citation_has_version_date_and_repository():
    text = (pages.ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {isthmus.__version__}\n" in text
    assert re.search(r'^date-released: "\d{4}-\d{2}-\d{2}"$', text, re.M)
    assert f'repository-code: "{URLS["Source"]}"' in text


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_hash(path):
    uses = re.findall(r"uses: (\S+)", path.read_text(encoding="utf-8"))
    assert [name for name in uses if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", name)] == []
