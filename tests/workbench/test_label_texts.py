"""Texts of programs, labelled by a saved run: what comes back, who may, how much at once, how fast."""

import time

import pytest

URL = "/api/label"
TEXT = "The price was much too high for a service like this."


def test_a_text_gets_its_label(client, run, workspace):
    answer = client.post(URL, json={"run": run.id, "texts": [TEXT, "Friendly staff."]})
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert (found["run"], found["project"]) == (run.id, run.project)
    first = found["labels"][0]
    assert set(first) == {"label", "confidence", "needs_review", "review_reason", "novel_group"}
    saved = workspace.exports.load(run.id).label_new([TEXT, "Friendly staff."])
    assert [row["label"] for row in found["labels"]] == saved.labels.tolist()
    assert first["confidence"] == pytest.approx(saved.confidence[0], abs=1e-3)


def test_a_warm_server_answers_in_milliseconds(client, run):
    client.post(URL, json={"run": run.id, "texts": [TEXT]})
    taken = []
    for number in range(10):
        start = time.process_time()  # of this process, in which the server runs: other work does not count
        assert client.post(URL, json={"run": run.id, "texts": [f"{TEXT} {number}"]}).status_code == 200
        taken.append(time.process_time() - start)
    assert min(taken) < 0.05, f"the fastest of ten took {1000 * min(taken):.0f} ms"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"texts": []}, 422),
        ({"texts": ["x"] * 101}, 422),
        ({"texts": ["x" * 20_001]}, 422),
        ({"texts": ["x"], "force": True}, 422),
        ({"texts": ["x"], "run": "nothing"}, 404),
    ],
    ids=["none", "too many", "too long", "unknown field", "no such run"],
)
def test_what_is_refused(client, run, body, status):
    answer = client.post(URL, json={"run": run.id} | body)
    assert answer.status_code == status, answer.text


def test_a_change_needs_the_token(client, run):
    answer = client.post(URL, json={"run": run.id, "texts": [TEXT]}, headers={"X-CSRF-Token": "wrong"})
    assert answer.status_code == 403


def test_it_is_described(client):
    described = client.get("/api/openapi.json").json()["paths"][URL]["post"]
    assert "without storing them" in described["description"]
    assert set(described["responses"]) >= {"200"}


def test_a_run_takes_no_labeller(client, project):
    """The server runs no commands for those who use it; answers of a labeller arrive as those of an annotator."""
    refused = client.post(f"/api/projects/{project.id}/runs", json={"method": "auto", "labeller": "cat"})
    assert refused.status_code == 422
    assert "labeller" in refused.text
