"""Projects and who may see them."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from isthmus.exceptions import UsageError
from isthmus.workspace.context import Context, Many, check_name, choose_one, find_row, note_event, to_record
from isthmus.workspace.database import new_id, storable, utc_now
from isthmus.workspace.records import OWNER, ROLES, Member, Project
from isthmus.workspace.schema import MEMBERS, PEOPLE, PROJECTS

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
