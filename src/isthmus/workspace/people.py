"""People and projects: accounts, roles, invitations, members. Passwords arrive as hashes, made elsewhere."""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from isthmus.exceptions import DataError, UsageError
from isthmus.workspace.context import Context, Many, check_name, choose_one, find_row, missing, note_event, to_record
from isthmus.workspace.database import new_id, storable, utc_now
from isthmus.workspace.records import OWNER, ROLES, Member, Person, Project
from isthmus.workspace.schema import ENDED_SESSIONS, INVITATIONS, MEMBERS, PEOPLE, PROJECTS

LOCAL_NAME = "local"
_BY_NAME = PEOPLE.select().where(PEOPLE.c.folded_name == sa.bindparam("name"))
_INVITATION_DAYS = 7


class People:
    """Who works in the workspace."""

    def __init__(self, context: Context):
        self._db = context.db

    def create(self, name: str, password_hash: str | None, role: str = OWNER, *, by: str | None = None) -> Person:
        """A new account; names are unique, whatever their case."""
        with self._db.writing() as connection:
            person = _add_person(connection, name, password_hash, role)
            note_event(connection, "person created", by=by, subject=person, role=role)
        return self.get(person)

    def local(self) -> Person:
        """The one person of a workspace without accounts; made on first use."""
        found = self.by_name(LOCAL_NAME)
        if found is not None:
            return found
        try:
            return self.create(LOCAL_NAME, None, OWNER)
        except DataError:  # another process was faster
            return self.by_name(LOCAL_NAME) or self.local()

    def get(self, id: str) -> Person:
        """The person with this id."""
        with self._db.reading() as connection:
            return to_record(Person, find_row(connection, PEOPLE, id, "person"))

    def by_name(self, name: str) -> Person | None:
        """The person of this name, or None."""
        with self._db.reading() as connection:
            row = connection.execute(_BY_NAME, {"name": _fold(name)}).first()
        return None if row is None else to_record(Person, row)

    def list(self) -> Many[Person]:
        """Everybody, by name."""
        with self._db.reading() as connection:
            rows = connection.execute(PEOPLE.select().order_by(PEOPLE.c.folded_name))
            return [to_record(Person, row) for row in rows]

    def has_accounts(self) -> bool:
        """Whether anybody can sign in with a password."""
        with self._db.reading() as connection:
            query = sa.select(PEOPLE.c.id).where(PEOPLE.c.password_hash.is_not(None), ~PEOPLE.c.disabled).limit(1)
            return connection.execute(query).first() is not None

    def set_role(self, id: str, role: str, *, by: str | None) -> Person:
        """Another role in the workspace; the last owner stays one."""
        choose_one(role, ROLES, "role")
        return self._change(id, by, "person's role changed", role=role)

    def disable(self, id: str, *, by: str | None) -> Person:
        """Close an account: its sessions end, what the person decided stays."""
        return self._change(id, by, "person disabled", disabled=True, session_key=new_id())

    def enable(self, id: str, *, by: str | None) -> Person:
        """Open a closed account again."""
        return self._change(id, by, "person enabled", disabled=False)

    def set_password(self, id: str, password_hash: str, *, by: str | None) -> Person:
        """Another password; every session begun with the old one ends."""
        return self._change(id, by, "password changed", password_hash=password_hash, session_key=new_id())

    def end_sessions(self, id: str, *, by: str | None) -> Person:
        """End every session of a person."""
        return self._change(id, by, "sessions ended", session_key=new_id())

    def behind(self, id: str, stamp: str, session: str) -> Person | None:
        """The person behind a session; None where the session was ended, or the account is closed.

        ``stamp``: the person's ``session_key`` when the session began; ``session``: the session's own key.
        """
        about = {"person": storable(str(id)[:64]), "stamp": storable(str(stamp)[:64]), "key": _hash(session)}
        with self._db.reading() as connection:
            row = connection.execute(_BEHIND, about).first()
        return None if row is None else to_record(Person, row)

    def end_session(self, id: str, session: str, until: datetime, *, by: str | None) -> None:
        """End one session of a person, and leave the others; it would have ended at ``until`` anyway."""
        ended, now = ENDED_SESSIONS.c, utc_now()
        with self._db.writing() as connection:
            find_row(connection, PEOPLE, id, "person", lock=True)
            connection.execute(ENDED_SESSIONS.delete().where(ended.until < now))
            if connection.execute(ENDED_SESSIONS.select().where(ended.key_hash == _hash(session))).first() is None:
                connection.execute(ENDED_SESSIONS.insert().values(key_hash=_hash(session), person_id=id, until=until))
            note_event(connection, "sign-out", by=by, subject=id)

    def _change(self, id: str, by: str | None, kind: str, **values) -> Person:
        with self._db.writing() as connection:
            person = find_row(connection, PEOPLE, id, "person", lock=True)
            if person.role == OWNER and (values.get("role", OWNER) != OWNER or values.get("disabled")):
                others = sa.select(PEOPLE.c.id).where(
                    PEOPLE.c.role == OWNER, ~PEOPLE.c.disabled, PEOPLE.c.id != person.id
                )
                if person.password_hash is not None:  # somebody must still be able to sign in
                    others = others.where(PEOPLE.c.password_hash.is_not(None))
                if connection.execute(others.limit(1)).first() is None:
                    raise UsageError(
                        f"{person.name!r} is the last owner; make somebody else an owner first.", code="bad-parameter"
                    )
            connection.execute(PEOPLE.update().where(PEOPLE.c.id == person.id).values(**values))
            told = {key: value for key, value in values.items() if key in ("role", "disabled")}
            note_event(connection, kind, by=by, subject=person.id, **told)
        return self.get(id)

    def note(self, kind: str, *, by: str | None, subject: str = "", **detail) -> None:
        """Write an event about people into the audit log: a sign-in, a refusal."""
        with self._db.writing() as connection:
            note_event(connection, kind, by=by, subject=subject, **detail)

    # Invitations

    def invite(self, role: str, *, by: str, project: str | None = None) -> str:
        """A one-time token for a link; the workspace keeps its hash alone, so it cannot be shown again."""
        choose_one(role, ROLES, "role")
        token, now = secrets.token_urlsafe(32), utc_now()
        with self._db.writing() as connection:
            if project is not None:
                find_row(connection, PROJECTS, project, "project")
            invitation = new_id()
            connection.execute(
                INVITATIONS.insert().values(
                    id=invitation, token_hash=_hash(token), role=role, project_id=project, created_by=by,
                    created_at=now, expires_at=now + timedelta(days=_INVITATION_DAYS),
                )
            )  # fmt: skip
            note_event(connection, "person invited", by=by, project=project, subject=invitation, role=role)
        return token

    def accept(self, token: str, name: str, password_hash: str) -> Person:
        """The account of somebody who was invited; a token works once, and for a week."""
        with self._db.writing() as connection:
            query = INVITATIONS.select().where(INVITATIONS.c.token_hash == _hash(token)).with_for_update()
            invitation = connection.execute(query).first()
            if invitation is None or invitation.used_at is not None or invitation.expires_at < utc_now():
                raise missing("invitation")
            person = _add_person(connection, name, password_hash, invitation.role)
            connection.execute(
                INVITATIONS.update().where(INVITATIONS.c.id == invitation.id).values(used_at=utc_now(), used_by=person)
            )
            if invitation.project_id is not None:
                connection.execute(
                    MEMBERS.insert().values(
                        project_id=invitation.project_id, person_id=person, role=invitation.role, since=utc_now()
                    )
                )
            note_event(connection, "invitation accepted", by=person, project=invitation.project_id, subject=person)
        return self.get(person)


_BEHIND = PEOPLE.select().where(
    PEOPLE.c.id == sa.bindparam("person"),
    PEOPLE.c.session_key == sa.bindparam("stamp"),
    ~PEOPLE.c.disabled,
    ~sa.exists().where(ENDED_SESSIONS.c.key_hash == sa.bindparam("key")),
)


def _add_person(connection: Connection, name: str, password_hash: str | None, role: str) -> str:
    choose_one(role, ROLES, "role")
    name = check_name(name, "person")
    if connection.execute(sa.select(PEOPLE.c.id).where(PEOPLE.c.folded_name == _fold(name))).first() is not None:
        raise DataError(f"There is a person called {name!r} already; choose another name.", code="name-taken")
    person = new_id()
    connection.execute(
        PEOPLE.insert().values(
            id=person, name=name, folded_name=_fold(name), password_hash=password_hash, role=role,
            session_key=new_id(), disabled=False, created_at=utc_now(),
        )
    )  # fmt: skip
    return person


def _fold(name: str) -> str:
    return " ".join(str(name).split()).casefold()[:200].replace("\x00", "")


def _hash(token: str) -> str:
    return hashlib.sha256(str(token).encode("utf-8", "replace")).hexdigest()


# -- Projects and who may see them


_SEEN = (
    sa.select(*PROJECTS.c, MEMBERS.c.role)
    .join(MEMBERS, MEMBERS.c.project_id == PROJECTS.c.id)
    .where(PROJECTS.c.id == sa.bindparam("project"), MEMBERS.c.person_id == sa.bindparam("user"))
)


class Projects:
    """Projects: each has members, and nobody else sees it."""

    def __init__(self, context: Context):
        self._db = context.db

    def create(self, name: str, *, by: str) -> Project:
        """A new project; whoever makes it owns it."""
        name, project, now = check_name(name, "project"), new_id(), utc_now()
        with self._db.writing() as connection:
            find_row(connection, PEOPLE, by, "person")
            connection.execute(PROJECTS.insert().values(id=project, name=name, created_by=by, created_at=now))
            connection.execute(MEMBERS.insert().values(project_id=project, person_id=by, role=OWNER, since=now))
            note_event(connection, "project created", by=by, project=project, subject=project, name=name)
        return self.get(project)

    def get(self, id: str) -> Project:
        """The project with this id."""
        with self._db.reading() as connection:
            return to_record(Project, find_row(connection, PROJECTS, id, "project"))

    def list(self, user: str | None = None, *, archived: bool = False) -> Many[Project]:
        """Projects of a person, or all, latest first; archived ones only on request."""
        query = PROJECTS.select().order_by(PROJECTS.c.created_at.desc(), PROJECTS.c.id)
        if user is not None:
            query = query.join(MEMBERS, MEMBERS.c.project_id == PROJECTS.c.id).where(MEMBERS.c.person_id == user)
        if not archived:
            query = query.where(PROJECTS.c.archived_at.is_(None))
        with self._db.reading() as connection:
            return [to_record(Project, row) for row in connection.execute(query)]

    def rename(self, id: str, name: str, *, by: str) -> Project:
        """Another name."""
        return self._change(id, by, "project renamed", name=check_name(name, "project"))

    def archive(self, id: str, *, by: str, archived: bool = True) -> Project:
        """Put a project away, or take it out again; nothing in it is lost."""
        kind = "project archived" if archived else "project taken out"
        return self._change(id, by, kind, archived_at=utc_now() if archived else None)

    def set_second_reading(self, id: str, share: float, *, by: str) -> Project:
        """Which share of the documents a second person reads, too, without seeing what the first one said.

        It holds for answers from now on. The first answer stays the one that holds; the second tells how far people
        agree (:meth:`Answers.agreement`).
        """
        if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share <= 1:
            raise UsageError(f"The share is {str(share)[:40]!r}; give one from 0 to 1, such as 0.1.",
                             code="bad-parameter")  # fmt: skip
        return self._change(id, by, "second reading set", second_reading=float(share))

    def _change(self, id: str, by: str, kind: str, **values: Any) -> Project:
        with self._db.writing() as connection:
            project = find_row(connection, PROJECTS, id, "project", lock=True)
            connection.execute(PROJECTS.update().where(PROJECTS.c.id == project.id).values(**values))
            told = {"was": project.name, "name": values["name"]} if "name" in values else {}
            told |= {"share": values["second_reading"]} if "second_reading" in values else {}
            note_event(connection, kind, by=by, project=project.id, subject=project.id, **told)
        return self.get(id)

    # Members

    def role(self, project: str, user: str) -> str | None:
        """What a person may do in a project; None: they do not see it."""
        found = self.seen_by(project, user)
        return None if found is None else found[1]

    def seen_by(self, project: str, user: str) -> tuple[Project, str] | None:
        """A project and what a person may do in it; None: they do not see it, or there is none."""
        about = {"project": storable(str(project))[:64], "user": storable(str(user))[:64]}
        with self._db.reading() as connection:
            row = connection.execute(_SEEN, about).first()
        return None if row is None else (to_record(Project, row), row.role)

    def members(self, project: str) -> Many[Member]:
        """Who is in a project, by name."""
        query = (
            sa.select(MEMBERS.c.person_id.label("person"), PEOPLE.c.name, MEMBERS.c.role, MEMBERS.c.since)
            .join(PEOPLE, PEOPLE.c.id == MEMBERS.c.person_id)
            .where(MEMBERS.c.project_id == project)
            .order_by(PEOPLE.c.folded_name)
        )
        with self._db.reading() as connection:
            return [to_record(Member, row) for row in connection.execute(query)]

    def add_member(self, project: str, person: str, role: str, *, by: str) -> None:
        """Let a person in, or give a member another role."""
        choose_one(role, ROLES, "role")
        place = (MEMBERS.c.project_id == project, MEMBERS.c.person_id == person)
        with self._db.writing() as connection:
            find_row(connection, PROJECTS, project, "project", lock=True)
            find_row(connection, PEOPLE, person, "person")
            if connection.execute(MEMBERS.update().where(*place).values(role=role)).rowcount == 0:
                row = {"project_id": project, "person_id": person, "role": role, "since": utc_now()}
                connection.execute(MEMBERS.insert().values(**row))
            note_event(connection, "member added", by=by, project=project, subject=person, role=role)

    def remove_member(self, project: str, person: str, *, by: str) -> None:
        """Shut a person out of a project; what they decided stays."""
        with self._db.writing() as connection:
            found = MEMBERS.delete().where(MEMBERS.c.project_id == project, MEMBERS.c.person_id == person)
            if connection.execute(found).rowcount:
                note_event(connection, "member removed", by=by, project=project, subject=person)
