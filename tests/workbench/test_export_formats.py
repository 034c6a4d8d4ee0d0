"""Every export the page offers, with formulas wherever people can write: no spreadsheet runs them."""

import csv
import io
import re
import zipfile

from isthmus.workspace.answers import check_label

FORMULA = '=HYPERLINK("http://evil.example")'


def test_no_export_holds_a_cell_that_a_spreadsheet_would_run(client, workspace, untouched):
    project, run = untouched
    odd = workspace.people.create(FORMULA, "no password", "owner").id
    documents = [row.document for row in workspace.runs.predictions(run.id, limit=3)]
    workspace.answers.give(documents[0], check_label(FORMULA), by=odd, run=run.id)
    workspace.runs.rename(run.id, FORMULA, by=odd)
    workspace.projects.rename(project.id, FORMULA, by=odd)
    page = client.get(f"/projects/{project.id}/export").text
    forms = re.findall(r'name="kind" value="(\w+)">(.*?)</form>', page, flags=re.DOTALL)
    offered = [(kind, form) for kind, rest in forms for form in re.findall(r'name="format" value="(\w+)"', rest)]
    assert len(offered) >= 10
    for kind, form in offered:
        answer = client.post(f"/api/projects/{project.id}/exports", json={"run": run.id, "kind": kind, "format": form})
        assert answer.status_code == 200, (kind, form)
        if (kind, form) == ("labels", "csv"):
            less = client.post(answer.url, json={"run": run.id, "kind": kind, "format": form, "add": ["label"]}).text
            assert answer.text.startswith(less.partition("\n")[0] + ","), "only the label is added to the table"
            assert client.post(answer.url, json={"run": run.id, "kind": kind, "add": ["labl"]}).status_code == 422
        if form == "csv":
            cells = [cell for row in csv.reader(io.StringIO(answer.text)) for cell in row]
            signs = [cell for cell in cells if re.match(r"[=+@\t\r-]", cell) and not re.fullmatch(r"-?[0-9.]+", cell)]
            assert (kind, signs) == (kind, [])
            assert (kind, "'" + FORMULA in cells) == (kind, True)
        elif form == "xlsx":
            with zipfile.ZipFile(io.BytesIO(answer.content)) as book:
                sheets = [book.read(name) for name in book.namelist() if name.startswith("xl/worksheets/sheet")]
            assert sheets
            assert not any(b"<f>" in sheet for sheet in sheets)
        elif form == "html":
            assert 'href="http://evil' not in answer.text
        else:
            assert answer.content
