"""Second readings: some documents come to a second person, who does not see what the first one said."""

import pytest

from isthmus.exceptions import UsageError
from isthmus.workspace import work
from isthmus.workspace.database import utc_now
from isthmus.workspace.queue import LEASE, is_due


@pytest.fixture
def pair(done):
    """Two reviewers of a project in which every document is read twice."""
    done.projects.set_second_reading(done.project.id, 1, by=done.by)
    done.kim = done.people.create("Kim", None, "reviewer").id
    done.lee = done.people.create("Lee", None, "reviewer").id
    return done


def answer(ws, person, label, n=1, before=None):
    """Answer the next ``n`` documents of a person's queue."""
    given = []
    for _ in range(n):
        (found,) = ws.queue.next(ws.run.id, person)
        assert found.answer == before
        given.append(ws.answers.give(found.document, label, by=person, run=ws.run.id))
    return given


def test_the_share_of_the_documents_is_the_one_asked_for():
    ids = [f"{i * 2654435761 % 2**32:08x}" + "0" * 24 for i in range(10_000)]
    assert sum(is_due(id, 0.1) for id in ids) == pytest.approx(1_000, abs=30)
    assert not any(is_due(id, 0.0) for id in ids)


def test_without_it_nobody_reads_twice(done):
    kim, lee = (done.people.create(name, None, "reviewer").id for name in ("Kim", "Lee"))
    read = [[row.document for row in answer(done, person, "staff", 12)] for person in (kim, lee)]
    assert not set(read[0]) & set(read[1])
    assert done.queue.next(done.run.id, kim) == []
    assert done.answers.agreement(done.project.id)["documents"] == 0


def test_a_second_person_reads_blind_and_the_first_answer_holds(pair):
    first = answer(pair, pair.kim, "staff", 3)
    second = answer(pair, pair.lee, "price", 2) + answer(pair, pair.lee, "staff", 1)
    assert [row.document for row in second] == [row.document for row in first]
    assert {row.kind for row in second} == {"second"}
    for row in first:
        assert pair.runs.prediction(pair.run.id, row.document).answer == "staff"
    found = pair.answers.agreement(pair.project.id)
    assert (found["documents"], found["agreed"]) == (3, 1)
    assert {row["document"] for row in found["disputed"]} == {row.document for row in first[:2]}
    assert {row["by"]: row["answers"] for row in pair.answers.counts(pair.project.id)} == {pair.kim: 3, pair.lee: 3}
    assert pair.queue.counts(pair.run.id)["done"] == 3
    assert pair.answers.labels(pair.project.id) == ["price", "staff"]  # what a second reader names can be chosen again
    # Whoever opens the document and decides, decides.
    pair.answers.give(first[0].document, "product", by=pair.by, run=pair.run.id)
    assert pair.runs.prediction(pair.run.id, first[0].document).answer == "product"
    taught = pair.runs.teach(pair.run.id, by=pair.by)
    work(pair, until_idle=True)
    assert pair.runs.get(taught.id).summary["answers"] == 3  # second answers are no further documents
    assert pair.check() == []


def test_who_reads_a_document_that_got_a_class_with_its_group_is_its_first_reader(pair):
    assert pair.groups.label_documents(pair.run.id, range(24), "tyres", by=pair.by, group="new: tyres") == 24
    (first,) = answer(pair, pair.kim, "staff", before="tyres")
    (second,) = answer(pair, pair.lee, "staff")
    assert (first.document, first.kind) == (second.document, "answer")
    assert second.kind == "second"


def test_nobody_is_their_own_second_reader(pair):
    read = answer(pair, pair.kim, "staff", 24)
    assert len({row.document for row in read}) == 24
    assert pair.queue.next(pair.run.id, pair.kim) == []


def test_two_second_readers_never_hold_the_same_document(pair):
    answer(pair, pair.kim, "staff", 2)
    held = [pair.queue.next(pair.run.id, person)[0].document for person in (pair.lee, pair.by)]
    assert len(set(held)) == 2
    assert pair.queue.next(pair.run.id, pair.lee)[0].document == held[0]  # a reload shows the same
    assert len(pair.queue.next(pair.run.id, pair.lee, 3)) == 3
    pair.queue.release(pair.run.id, pair.lee)
    assert pair.queue.next(pair.run.id, pair.by)[0].document == held[1]


def test_a_second_reading_is_left_for_later(pair):
    (first,) = answer(pair, pair.kim, "staff")
    assert pair.queue.next(pair.run.id, pair.lee)[0].document == first.document
    assert pair.queue.skip(pair.run.id, pair.lee, first.document) == 1
    assert pair.queue.next(pair.run.id, pair.lee)[0].document != first.document


def test_what_is_held_in_another_project_stays_held(pair, add_file, source_csv):
    """Putting everything back in one project put back the second readings of all."""
    answer(pair, pair.kim, "staff")
    pair.queue.next(pair.run.id, pair.lee)
    other = pair.projects.create("Other", by=pair.by).id
    add_file(pair, other, "s.csv", source_csv.decode(), "source", pair.by)
    add_file(pair, other, "t.csv", "text\nkind staff\nhigh price\n", "target", pair.by)
    run = pair.runs.start(other, {"method": "nbc", "vectors": False}, by=pair.by)
    work(pair, until_idle=True)
    assert pair.queue.release(run.id, pair.lee) == 0, "nothing of the other project was held"
    assert pair.queue.release(pair.run.id, pair.lee) == 1


def test_both_answers_can_be_taken_back(pair):
    (first,) = answer(pair, pair.kim, "staff")
    (second,) = answer(pair, pair.lee, "price")
    assert pair.answers.undo(by=pair.lee)[0].id == second.id
    assert pair.runs.prediction(pair.run.id, first.document).answer == "staff"
    assert pair.queue.next(pair.run.id, pair.lee)[0].document == first.document  # again in their hands, again blind
    answer(pair, pair.lee, "price")
    pair.answers.undo(by=pair.kim)
    assert pair.runs.prediction(pair.run.id, first.document).answer == "price"  # the only one that is left
    pair.answers.undo(by=pair.lee)
    assert pair.runs.prediction(pair.run.id, first.document).answer is None
    assert pair.check() == []
    (again,) = answer(pair, pair.lee, "price")
    assert (again.document, again.kind) == (first.document, "answer")


@pytest.mark.parametrize("what", ["second reading", "sample"])
def test_what_somebody_holds_too_long_goes_to_another(pair, monkeypatch, what):
    """As in the queue itself, for which tests/workspace/test_flow.py sees to it."""
    (first,) = answer(pair, pair.kim, "staff")
    check = pair.checks.draw(pair.run.id, 3, by=pair.by)  # one of them may be the document that Kim has answered

    def take(person):
        if what == "sample":
            return pair.checks.next(check.id, person).id
        return pair.queue.next(pair.run.id, person)[0].document

    held = take(pair.lee)
    assert held == first.document or what == "sample"
    assert take(pair.lee) == held
    assert take(pair.by) != held
    later = utc_now() + 2 * LEASE
    for module in ("queue", "checks"):
        monkeypatch.setattr(f"isthmus.workspace.{module}.utc_now", lambda: later)
    assert take(pair.by) == held
    assert what == "sample" or take(pair.lee) != held


def test_a_share_that_cannot_be_is_refused(done):
    for share in (-0.1, 1.5, True, "much", float("nan")):
        with pytest.raises(UsageError, match="share"):
            done.projects.set_second_reading(done.project.id, share, by=done.by)
