"""People, roles, invitations and members."""

from datetime import timedelta

import pytest

from isthmus.exceptions import DataError, IsthmusError, UsageError
from isthmus.workspace.database import utc_now
from isthmus.workspace.schema import ENDED_SESSIONS, INVITATIONS


def test_names_are_unique_whatever_their_case(ws):
    ws.people.create("Kim Lee", "hash")
    with pytest.raises(DataError) as error:
        ws.people.create(" kim  LEE ", "hash")
    assert error.value.code == "name-taken"
    assert ws.people.by_name("KIM LEE").name == "Kim Lee"
    assert ws.people.by_name("nobody") is None


def test_one_person_is_enough_without_accounts(ws):
    assert ws.people.local() == ws.people.local()
    assert not ws.people.has_accounts()
    ws.people.create("Kim", "hash")
    assert ws.people.has_accounts()


def test_the_last_owner_stays(ws):
    ws.people.local()  # owns everything, but cannot sign in
    kim = ws.people.create("Kim", "hash", "owner")
    with pytest.raises(UsageError, match="last owner"):
        ws.people.set_role(kim.id, "viewer", by=kim.id)
    with pytest.raises(UsageError, match="last owner"):
        ws.people.disable(kim.id, by=kim.id)
    lee = ws.people.create("Lee", "hash", "owner")
    assert ws.people.set_role(kim.id, "viewer", by=lee.id).role == "viewer"


def test_sessions_end_when_a_password_changes_or_an_account_is_closed(ws):
    ws.people.create("Kim", "hash", "owner")
    lee = ws.people.create("Lee", "hash", "reviewer")
    keys = [lee.session_key]
    keys.append(ws.people.set_password(lee.id, "other", by=lee.id).session_key)
    closed = ws.people.disable(lee.id, by=lee.id)
    keys.append(closed.session_key)
    assert closed.disabled
    assert len(set(keys)) == 3
    assert not ws.people.enable(lee.id, by=lee.id).disabled
    told = [(event.kind, event.subject, event.by) for event in ws.audit.events()[2:]]
    assert told == [(what, lee.id, lee.id) for what in ("password changed", "person disabled", "person enabled")]


def test_one_session_ends_and_the_others_go_on(ws):
    kim = ws.people.create("Kim", "hash", "owner")
    assert ws.people.behind(kim.id, kim.session_key, "here") == kim
    ws.people.end_session(kim.id, "here", utc_now() + timedelta(hours=1), by=kim.id)
    ws.people.end_session(kim.id, "here", utc_now() + timedelta(hours=1), by=kim.id)  # twice is no harm
    assert ws.people.behind(kim.id, kim.session_key, "here") is None
    assert ws.people.behind(kim.id, kim.session_key, "there") == kim
    assert ws.people.behind(kim.id, "another stamp", "there") is None
    ws.people.end_session(kim.id, "old", utc_now() - timedelta(hours=1), by=kim.id)
    ws.people.end_session(kim.id, "new", utc_now() + timedelta(hours=1), by=kim.id)
    with ws._context.db.reading() as connection:
        assert len(connection.execute(ENDED_SESSIONS.select()).all()) == 2  # what is over by itself is not kept


def test_an_invitation_works_once_and_not_for_ever(ws):
    kim = ws.people.create("Kim", "hash", "owner")
    project = ws.projects.create("Dealers", by=kim.id)
    token = ws.people.invite("reviewer", by=kim.id, project=project.id)
    with ws._context.db.reading() as connection:
        assert token not in str(connection.execute(INVITATIONS.select()).all())
    lee = ws.people.accept(token, "Lee", "hash")
    assert lee.role == "reviewer"
    assert ws.projects.role(project.id, lee.id) == "reviewer"
    late = ws.people.invite("viewer", by=kim.id)
    with ws._context.db.writing() as connection:
        past = utc_now() - timedelta(seconds=1)
        connection.execute(INVITATIONS.update().where(INVITATIONS.c.used_at.is_(None)).values(expires_at=past))
    for wrong in (token, late, "nonsense", ""):
        with pytest.raises(DataError, match="no such invitation"):
            ws.people.accept(wrong, "Max", "hash")


def test_a_name_that_is_taken_does_not_use_up_the_invitation(ws):
    kim = ws.people.create("Kim", "hash", "owner")
    token = ws.people.invite("reviewer", by=kim.id)
    with pytest.raises(DataError, match="is taken"):
        ws.people.accept(token, "kim", "hash")
    assert ws.people.accept(token, "Lee", "hash").name == "Lee"


def test_only_members_see_a_project(ws):
    kim, lee = (ws.people.create(name, "hash", "owner") for name in ("Kim", "Lee"))
    project = ws.projects.create("Dealers", by=kim.id)
    assert ws.projects.list(lee.id) == []
    assert ws.projects.role(project.id, lee.id) is None
    ws.projects.add_member(project.id, lee.id, "viewer", by=kim.id)
    ws.projects.add_member(project.id, lee.id, "reviewer", by=kim.id)
    assert [(member.name, member.role) for member in ws.projects.members(project.id)] == [
        ("Kim", "owner"),
        ("Lee", "reviewer"),
    ]
    ws.projects.remove_member(project.id, lee.id, by=kim.id)
    assert ws.projects.role(project.id, lee.id) is None


def test_a_project_is_renamed_archived_and_taken_out(ws):
    kim = ws.people.create("Kim", None)
    project = ws.projects.create("Dealers", by=kim.id)
    assert ws.projects.rename(project.id, " Dealers\n2026 ", by=kim.id).name == "Dealers 2026"
    ws.projects.archive(project.id, by=kim.id)
    assert ws.projects.list(kim.id) == []
    assert len(ws.projects.list(kim.id, archived=True)) == 1
    assert ws.projects.archive(project.id, by=kim.id, archived=False).archived_at is None
    assert ws.projects.create("x" * 200, by=kim.id).name == "x" * 200
    for name in ("", " ", "x" * 201, None):
        with pytest.raises(UsageError, match="name of the project"):
            ws.projects.create(name, by=kim.id)


def test_the_audit_log_says_who_did_what_and_never_a_secret(ws):
    kim = ws.people.create("Kim", "secret-hash", "owner")
    ws.people.set_password(kim.id, "other-secret", by=kim.id)
    token = ws.people.invite("viewer", by=kim.id)
    ws.audit.note("signed in", by=kim.id, address="127.0.0.1")
    events = ws.audit.events()
    assert [event.kind for event in events] == ["person created", "password changed", "person invited", "signed in"]
    said = str(events)
    assert not any(secret in said for secret in ("secret", token))
    assert [event.kind for event in ws.audit.events(latest=True, limit=1)] == ["signed in"]
    assert ws.audit.events(after=events[-1].number) == []


def test_a_word_touches_nothing_where_there_is_nothing_to_search(ws):
    kim = ws.people.create("Kim", None)
    project = ws.projects.create("Dealers", by=kim.id)
    assert ws.words.touches(project.id, "staff") == {"word": "staff", "documents": 0, "labels": {}, "examples": []}
    assert ws.words.search(project.id) == []


def test_projects_are_handed_over_with_everything_but_the_answers_names(ws):
    kim, lee = ws.people.create("Kim", "hash"), ws.people.create("Lee", "hash")
    kept, away = ws.projects.create("Kept", by=kim.id), ws.projects.create("Away", by=kim.id)
    ws.projects.add_member(kept.id, lee.id, "viewer", by=kim.id)
    ws.projects.archive(away.id, by=kim.id)
    assert [row.name for row in ws.projects.hand_over(lee.id, by=None, giver=kim.id)] == ["Away", "Kept"]
    assert [ws.projects.role(row.id, lee.id) for row in (kept, away)] == ["owner", "owner"]
    assert ws.projects.role(kept.id, kim.id) is None
    assert ws.audit.events(kept.id, latest=True, limit=1)[0].kind == "project handed over"
    for wrong in ({"giver": lee.id}, {"giver": "nobody"}):
        with pytest.raises(IsthmusError):
            ws.projects.hand_over(lee.id, by=None, **wrong)


def test_without_a_giver_only_what_nobody_can_reach_is_handed_over(ws):
    local, kim, lee = ws.people.local(), ws.people.create("Kim", "hash"), ws.people.create("Lee", "hash")
    ws.projects.create("Reached", by=kim.id)
    early = ws.projects.create("Early", by=local.id)
    assert [row.name for row in ws.projects.without_owner()] == ["Early"]
    assert [row.id for row in ws.projects.hand_over(lee.id, by=None)] == [early.id]
    assert ws.projects.without_owner() == []
    assert ws.projects.role(early.id, local.id) is None


def test_only_the_first_account_takes_over_what_local_made(ws):
    local = ws.people.local()
    project = ws.projects.create("Early", by=local.id)
    tokens = [ws.people.invite("owner", by=local.id) for _ in range(2)]
    first, second = (ws.people.accept(token, name, "hash") for token, name in zip(tokens, ("A", "B"), strict=True))
    assert ws.projects.role(project.id, first.id) == "owner"
    assert ws.projects.role(project.id, second.id) is None


def test_a_first_account_that_owns_nothing_takes_nothing_over(ws):
    local = ws.people.local()
    project = ws.projects.create("Early", by=local.id)
    reader = ws.people.accept(ws.people.invite("viewer", by=local.id), "A", "hash")
    assert ws.projects.role(project.id, reader.id) is None
    assert ws.projects.role(project.id, local.id) == "owner"


def test_the_last_owner_of_a_project_stays_one(ws):
    kim, lee, max_ = (ws.people.create(name, "hash") for name in ("Kim", "Lee", "Max"))
    project = ws.projects.create("Dealers", by=kim.id)
    ws.projects.add_member(project.id, lee.id, "reviewer", by=kim.id)
    ws.projects.add_member(project.id, ws.people.local().id, "owner", by=kim.id)  # who cannot sign in is no help
    for take in (
        lambda: ws.projects.add_member(project.id, kim.id, "viewer", by=kim.id),
        lambda: ws.projects.remove_member(project.id, kim.id, by=kim.id),
        lambda: ws.people.disable(kim.id, by=lee.id),
    ):
        with pytest.raises(UsageError, match="last owner"):
            take()
    assert ws.projects.role(project.id, kim.id) == "owner"
    ws.projects.add_member(project.id, max_.id, "owner", by=kim.id)
    ws.projects.add_member(project.id, kim.id, "viewer", by=kim.id)
    assert ws.projects.role(project.id, kim.id) == "viewer"


def test_closing_an_account_hands_its_projects_over(ws):
    kim, lee, max_ = (ws.people.create(name, "hash") for name in ("Kim", "Lee", "Max"))
    alone, shared = ws.projects.create("Alone", by=kim.id), ws.projects.create("Shared", by=kim.id)
    ws.projects.add_member(shared.id, max_.id, "owner", by=kim.id)
    with pytest.raises(UsageError, match="'Alone'"):
        ws.people.disable(kim.id, by=lee.id)
    assert not ws.people.get(kim.id).disabled
    ws.people.disable(max_.id, by=lee.id)
    with pytest.raises(UsageError, match="closed"):
        ws.people.disable(kim.id, by=lee.id, hand_over_to=max_.id)
    ws.people.enable(max_.id, by=lee.id)
    ws.people.disable(kim.id, by=lee.id, hand_over_to=lee.id)
    assert ws.projects.role(alone.id, lee.id) == "owner"
    assert ws.projects.role(shared.id, lee.id) is None  # it has an owner
    assert ws.projects.without_owner() == []


def test_five_of_the_projects_that_would_be_left_are_named_in_order(ws):
    kim, lee = ws.people.create("Kim", "hash"), ws.people.create("Lee", "hash")
    for name in "dbfaec":
        ws.projects.create(name, by=kim.id)
    with pytest.raises(UsageError, match="last owner of 'a', 'b', 'c', 'd', 'e'; choose"):
        ws.people.disable(kim.id, by=lee.id)


def test_where_nobody_has_a_password_an_open_account_is_enough_to_go_on(ws):
    local, kim = ws.people.local(), ws.people.create("Kim", None)
    assert ws.people.set_role(local.id, "viewer", by=kim.id).role == "viewer"
    with pytest.raises(UsageError, match="last owner"):
        ws.people.set_role(kim.id, "viewer", by=kim.id)
    lee = ws.people.create("Lee", None)
    ws.people.disable(lee.id, by=kim.id)
    with pytest.raises(UsageError, match="last owner"):
        ws.people.disable(kim.id, by=kim.id)


def test_a_workspace_that_nobody_used_without_accounts_has_nothing_to_take_over(ws):
    """`local` is made on first use: by a script that made its own people there is none."""
    kim = ws.people.create("Kim", None)
    project = ws.projects.create("Early", by=kim.id)
    lee = ws.people.accept(ws.people.invite("owner", by=kim.id), "Lee", "hash")
    assert ws.projects.role(project.id, lee.id) is None
    assert ws.people.by_name("local") is None
    assert [row.id for row in ws.projects.hand_over(lee.id, by=None)] == [project.id]
    assert [ws.projects.role(project.id, who.id) for who in (kim, lee)] == ["owner", "owner"]


def test_who_is_no_member_is_not_said_to_have_left(ws):
    kim, lee = ws.people.create("Kim", "hash"), ws.people.create("Lee", "hash")
    project = ws.projects.create("Dealers", by=kim.id)
    ws.projects.remove_member(project.id, lee.id, by=kim.id)
    assert "member removed" not in [event.kind for event in ws.audit.events(project.id)]
