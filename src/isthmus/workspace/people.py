"""People and projects: accounts, roles, invitations and members. Callers hash passwords before they pass them."""

from __future__ import annotations

import builtins
import hashlib
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from isthmus.exceptions import DataError, UsageError
from isthmus.workspace.context import (
    Part,
    add,
    change,
    check_name,
    choose_one,
    find,
    missing,
    note_event,
)
from isthmus.workspace.database import new_id, storable, utc_now
from isthmus.workspace.schema import (
    ENDED_SESSIONS,
    INVITATIONS,
    MEMBERS,
    OWNER,
    PEOPLE,
    PROJECTS,
    ROLES,
    EndedSession,
    Invitation,
    Member,
    Person,
    Project,
)

# Name of the only person in a workspace without accounts.
LOCAL_NAME = "local"
# Days for which an invitation is valid.
_INVITATION_DAYS = 7
_CAN_SIGN_IN = sa.and_(PEOPLE.c.password_hash.is_not(None), ~PEOPLE.c.disabled)


class People(Part):
    """Create, change and close accounts, invite people, and check sessions."""

    def create(self, name: str, password_hash: str | None, role: str = OWNER, *, by: str | None = None) -> Person:
        """Create an account. Names are unique regardless of case.

        Parameters
        ----------
        name : str
            Name of the person.
        password_hash : str or None
            Hash of the password, or None for an account without a password.
        role : str, default=OWNER
            Role: "viewer", "reviewer" or "owner".
        by : str, optional
            Id of the person who creates the account, or None for the command line.

        Returns
        -------
        Person
            The new person.

        Raises
        ------
        DataError
            If the name is taken.
        UsageError
            If the role is unknown or the name is not valid.
        """
        with self._db.writing() as session:
            person = _add_person(session, name, password_hash, role)
            note_event(session, "person created", by=by, subject=person, role=role)
        return self.get(person)

    def local(self) -> Person:
        """Return the only person of a workspace without accounts; create it on first use.

        Returns
        -------
        Person
            The person called "local".
        """
        found = self.by_name(LOCAL_NAME)
        if found is not None:
            return found
        try:
            return self.create(LOCAL_NAME, None, OWNER)
        except DataError:  # another process has created the account in the meantime
            return self.by_name(LOCAL_NAME) or self.local()

    def get(self, id: str) -> Person:
        """Return a person by their id, or raise an error if it does not exist.

        Parameters
        ----------
        id : str
            Id of the person.

        Returns
        -------
        Person
            The person.
        """
        return self._get(Person, id)

    def by_name(self, name: str) -> Person | None:
        """Return a person by their name, regardless of case.

        Parameters
        ----------
        name : str
            Name of the person.

        Returns
        -------
        Person or None
            The person, or None if nobody has this name.
        """
        return self._first(_by_name(name))

    def list(self) -> builtins.list[Person]:
        """Return all people by name.

        Returns
        -------
        list[Person]
            All people, also those with a closed account.
        """
        return self._all(sa.select(Person).order_by(PEOPLE.c.folded_name))

    def has_accounts(self) -> bool:
        """Return whether anybody can sign in with a password.

        Returns
        -------
        bool
            True if an open account has a password.
        """
        with self._db.reading() as session:
            return _has_accounts(session)

    def set_role(self, id: str, role: str, *, by: str | None) -> Person:
        """Change a person's role in the workspace.

        Parameters
        ----------
        id : str
            Id of the person.
        role : str
            Role: "viewer", "reviewer" or "owner".
        by : str or None
            Id of the person who makes the change.

        Returns
        -------
        Person
            The person.

        Raises
        ------
        UsageError
            If the person is the last owner, or the role is unknown.
        """
        choose_one(role, ROLES, "role")
        return self._change(id, by, "person's role changed", role=role)

    def disable(self, id: str, *, by: str | None, hand_over_to: str | None = None) -> Person:
        """Close an account and end its sessions. The person's decisions stay.

        Parameters
        ----------
        id : str
            Id of the person.
        by : str or None
            Id of the person who makes the change.
        hand_over_to : str, optional
            Id of the new owner of projects that would have no owner.

        Returns
        -------
        Person
            The person.

        Raises
        ------
        UsageError
            If the person is the last owner of the workspace, or of projects without a new owner.
        """
        with self._db.writing() as session:
            _lock_owners(session)
            person = find(session, Person, id, lock=True)
            _require_other_workspace_owner(session, person)
            # Projects that would lose their last owner need a new one.
            left = [project for project in _owned_by(session, id) if not _other_owners(session, project, person)]
            if left and hand_over_to is None:
                names = session.scalars(sa.select(PROJECTS.c.name).where(PROJECTS.c.id.in_(left))).all()
                shown = ", ".join(map(repr, sorted(names)[:5]))
                raise UsageError(f"{person.name!r} is the last owner of {shown}; choose who takes over.")
            if left:
                _check_taker(session, str(hand_over_to), id)
                _move_projects(session, left, None, str(hand_over_to), by=by)
            # The new session key ends all sessions at once.
            person.disabled, person.session_key = True, new_id()
            note_event(session, "person disabled", by=by, subject=person.id, disabled=True)
        return self.get(id)

    def enable(self, id: str, *, by: str | None) -> Person:
        """Open a closed account again.

        Parameters
        ----------
        id : str
            Id of the person.
        by : str or None
            Id of the person who makes the change.

        Returns
        -------
        Person
            The person.
        """
        return self._change(id, by, "person enabled", disabled=False)

    def set_password(self, id: str, password_hash: str, *, by: str | None) -> Person:
        """Change a person's password and end all their sessions.

        Parameters
        ----------
        id : str
            Id of the person.
        password_hash : str
            Hash of the new password.
        by : str or None
            Id of the person who makes the change.

        Returns
        -------
        Person
            The person.
        """
        return self._change(id, by, "password changed", password_hash=password_hash, session_key=new_id())

    def end_sessions(self, id: str, *, by: str | None) -> Person:
        """End all sessions of a person.

        Parameters
        ----------
        id : str
            Id of the person.
        by : str or None
            Id of the person who makes the change.

        Returns
        -------
        Person
            The person.
        """
        return self._change(id, by, "sessions ended", session_key=new_id())

    def behind(self, id: str, stamp: str, key: str) -> Person | None:
        """Return the person of a session.

        Parameters
        ----------
        id : str
            Id of the person.
        stamp : str
            The person's ``session_key`` when the session began.
        key : str
            Key of the session.

        Returns
        -------
        Person or None
            The person, or None if the session has ended or the account is closed.
        """
        ended = sa.exists().where(ENDED_SESSIONS.c.key_hash == _hash(key))
        is_person = PEOPLE.c.id == storable(str(id)[:64]), PEOPLE.c.session_key == storable(str(stamp)[:64])
        return self._first(sa.select(Person).where(*is_person, ~PEOPLE.c.disabled, ~ended))

    def end_session(self, id: str, key: str, until: datetime, *, by: str | None) -> None:
        """End one session of a person.

        Parameters
        ----------
        id : str
            Id of the person.
        key : str
            Key of the session.
        until : datetime
            Time at which the session would end by itself; the record is deleted afterwards.
        by : str or None
            Id of the person who makes the change.
        """
        ended, now = ENDED_SESSIONS.c, utc_now()
        with self._db.writing() as session:
            find(session, Person, id, lock=True)
            # Expired sessions are refused by their age, so their records are no longer needed.
            session.execute(ENDED_SESSIONS.delete().where(ended.until < now))
            if session.scalars(sa.select(EndedSession).where(ended.key_hash == _hash(key))).first() is None:
                add(session, EndedSession(key_hash=_hash(key), person=id, until=until))
            note_event(session, "sign-out", by=by, subject=id)

    def _change(self, id: str, by: str | None, kind: str, **values) -> Person:
        """Change columns of a person, and record the change without passwords and keys."""
        with self._db.writing() as session:
            _lock_owners(session)
            person = find(session, Person, id, lock=True)
            # A workspace without owner could no longer be managed.
            if values.get("role", OWNER) != OWNER:
                _require_other_workspace_owner(session, person)
            for name, value in values.items():
                setattr(person, name, value)
            # Hashes and keys must not enter the audit log.
            shown = {key: value for key, value in values.items() if key in ("role", "disabled")}
            note_event(session, kind, by=by, subject=person.id, **shown)
        return self.get(id)

    # Invitations

    def invite(self, role: str, *, by: str, project: str | None = None) -> str:
        """Create an invitation that works once.

        Parameters
        ----------
        role : str
            Role of the invited person.
        by : str
            Id of the person who makes the change.
        project : str, optional
            Id of a project that the invited person joins.

        Returns
        -------
        str
            Token for a link. The workspace stores only its hash, so the token cannot be shown again.
        """
        choose_one(role, ROLES, "role")
        # 32 random bytes cannot be guessed; storing only the hash protects them in backups.
        token = secrets.token_urlsafe(32)
        with self._db.writing() as session:
            if project is not None:
                find(session, Project, project)
            until = utc_now() + timedelta(days=_INVITATION_DAYS)
            key = _hash(token)
            made = Invitation(token_hash=key, role=role, project=project, created_by=by, expires_at=until)
            add(session, made)
            note_event(session, "person invited", by=by, project=project, subject=made.id, role=role)
        return token

    def accept(self, token: str, name: str, password_hash: str) -> Person:
        """Create the account of an invited person.

        A token works once, within seven days. The first account of a workspace takes over the projects that were made
        before there were accounts.

        Parameters
        ----------
        token : str
            Token of the invitation.
        name : str
            Name of the person.
        password_hash : str
            Hash of the password.

        Returns
        -------
        Person
            The new person.

        Raises
        ------
        DataError
            If the invitation is unknown, used or expired, or the name is taken.
        """
        with self._db.writing() as session:
            # The lock prevents that one token makes two accounts.
            query = sa.select(Invitation).where(INVITATIONS.c.token_hash == _hash(token)).with_for_update()
            invitation = session.scalars(query).first()
            if invitation is None or invitation.used_at is not None or invitation.expires_at < utc_now():
                raise missing("invitation")
            is_first = not _has_accounts(session)
            person = _add_person(session, name, password_hash, invitation.role)
            invitation.used_at, invitation.used_by = utc_now(), person
            if invitation.project is not None:
                add(session, Member(project=invitation.project, person=person, role=invitation.role))
            note_event(session, "invitation accepted", by=person, project=invitation.project, subject=person)
            local = session.scalars(_by_name(LOCAL_NAME)).first()
            # The first owner must be able to see the work done before accounts were switched on.
            if is_first and invitation.role == OWNER and local is not None:
                _move_projects(session, _owned_by(session, local.id), local.id, person, by=person)
        return self.get(person)


def _by_name(name: str) -> sa.Select:
    """Return the query for the account with a name."""
    return sa.select(Person).where(PEOPLE.c.folded_name == fold_name(name))


def _add_person(session: Session, name: str, password_hash: str | None, role: str) -> str:
    """Insert a person and return the id."""
    choose_one(role, ROLES, "role")
    name = check_name(name, "person")
    if session.execute(sa.select(PEOPLE.c.id).where(PEOPLE.c.folded_name == fold_name(name))).first() is not None:
        raise DataError(f"The name {name!r} is taken; choose another.", code="name-taken")
    made = Person(
        name=name, folded_name=fold_name(name), password_hash=password_hash, role=role,
        session_key=new_id(), disabled=False,
    )  # fmt: skip
    return add(session, made).id


def _lock_owners(session: Session) -> None:
    """Lock all owners: two owners who close each other's accounts at the same time must not both succeed."""
    query = sa.select(PEOPLE.c.id).where(PEOPLE.c.role == OWNER).order_by(PEOPLE.c.id)
    session.execute(query.with_for_update(key_share=True)).all()


def _require_other_workspace_owner(session: Session, person: Any) -> None:
    """Raise an error if a person is the last owner who can manage the workspace."""
    if person.role != OWNER or person.disabled:
        return
    others = sa.select(PEOPLE.c.id).where(PEOPLE.c.role == OWNER, PEOPLE.c.id != person.id, _as_able_as(person))
    if session.execute(others.limit(1)).first() is None:
        raise UsageError(f"{person.name!r} is the last owner; make somebody else an owner first.")


def _as_able_as(person: Any) -> Any:
    """Return the condition for people who can use the workspace as well as this person.

    Without a password, that is every open account; with one, every account that can sign in.
    """
    return ~PEOPLE.c.disabled if person.password_hash is None else _CAN_SIGN_IN


def _has_accounts(session: Session) -> bool:
    """Return whether anybody can sign in with a password."""
    return session.execute(sa.select(PEOPLE.c.id).where(_CAN_SIGN_IN).limit(1)).first() is not None


def fold_name(name: str) -> str:
    r"""Return the form of a name in which accounts are compared: without case, surplus blanks and NUL.

    Parameters
    ----------
    name : str
        Name of a person.

    Returns
    -------
    str
        The folded name, at most 200 characters long.

    Examples
    --------
    >>> fold_name("  Kim   LEE ") == fold_name("kim le\x00e")
    True
    """
    return " ".join(str(name).split()).casefold()[:200].replace("\x00", "")


def _hash(token: str) -> str:
    """Return the hash under which a token or a session key is stored."""
    # Tokens are random and long, so a fast hash suffices; passwords use argon2.
    return hashlib.sha256(str(token).encode("utf-8", "replace")).hexdigest()


# -- Projects and their members


_SEEN = (
    sa.select(Project, MEMBERS.c.role)
    .join(MEMBERS, MEMBERS.c.project_id == PROJECTS.c.id)
    .where(PROJECTS.c.id == sa.bindparam("project"), MEMBERS.c.person_id == sa.bindparam("user"))
)


_WITHOUT_OWNER = (
    sa.select(Project)
    .where(
        PROJECTS.c.id.not_in(
            sa.select(MEMBERS.c.project_id)
            .join(PEOPLE, PEOPLE.c.id == MEMBERS.c.person_id)
            .where(MEMBERS.c.role == OWNER, _CAN_SIGN_IN)
        )
    )
    .order_by(PROJECTS.c.name)
)


class Projects(Part):
    """Projects with their members; only members can see a project."""

    def create(self, name: str, *, by: str) -> Project:
        """Create a project, owned by the person who creates it.

        Parameters
        ----------
        name : str
            Name of the project.
        by : str
            Id of the person who makes the change.

        Returns
        -------
        Project
            The new project.
        """
        name = check_name(name, "project")
        with self._db.writing() as session:
            find(session, Person, by)
            project = add(session, Project(name=name, created_by=by))
            add(session, Member(project=project.id, person=by, role=OWNER))
            note_event(session, "project created", by=by, project=project.id, subject=project.id, name=name)
        return project

    def get(self, id: str) -> Project:
        """Return a project by its id, or raise an error if it does not exist.

        Parameters
        ----------
        id : str
            Id of the project.

        Returns
        -------
        Project
            The project.
        """
        return self._get(Project, id)

    def list(self, user: str | None = None, *, archived: bool = False) -> builtins.list[Project]:
        """Return the projects of a person, or all projects, latest first.

        Parameters
        ----------
        user : str, optional
            Id of a member; all projects if omitted.
        archived : bool, default=False
            Whether to include archived projects.

        Returns
        -------
        list[Project]
            The projects.
        """
        query = sa.select(Project).order_by(PROJECTS.c.created_at.desc(), PROJECTS.c.id)
        if user is not None:
            query = query.join(MEMBERS, MEMBERS.c.project_id == PROJECTS.c.id).where(MEMBERS.c.person_id == user)
        if not archived:
            query = query.where(PROJECTS.c.archived_at.is_(None))
        return self._all(query)

    def rename(self, id: str, name: str, *, by: str) -> Project:
        """Rename a project.

        Parameters
        ----------
        id : str
            Id of the project.
        name : str
            New name.
        by : str
            Id of the person who makes the change.

        Returns
        -------
        Project
            The project.
        """
        return self._change(id, by, "project renamed", name=check_name(name, "project"))

    def archive(self, id: str, *, by: str | None, archived: bool = True) -> Project:
        """Archive a project or restore it from the archive; its content stays unchanged.

        Parameters
        ----------
        id : str
            Id of the project.
        by : str or None
            Id of the person who makes the change.
        archived : bool, default=True
            Whether to archive the project; False restores it.

        Returns
        -------
        Project
            The project.
        """
        kind = "project archived" if archived else "project taken out"
        return self._change(id, by, kind, archived_at=utc_now() if archived else None)

    def set_second_reading(self, id: str, share: float, *, by: str) -> Project:
        """Set the share of documents that a second person reads without seeing the first answer.

        The share applies to later answers. The first answer stays the current one.

        Parameters
        ----------
        id : str
            Id of the project.
        share : float
            Share from 0 to 1.
        by : str
            Id of the person who makes the change.

        Returns
        -------
        Project
            The project.

        Raises
        ------
        UsageError
            If the share is no number from 0 to 1.
        """
        if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share <= 1:
            raise UsageError(f"The share is {str(share)[:40]!r}; give one from 0 to 1, such as 0.1.")
        return self._change(id, by, "second reading set", second_reading=float(share))

    def _change(self, id: str, by: str | None, kind: str, **values: Any) -> Project:
        """Change columns of a project, and record the change."""
        with self._db.writing() as session:
            project = find(session, Project, id, lock=True)
            detail = {"was": project.name, "name": values["name"]} if "name" in values else {}
            for name, value in values.items():
                setattr(project, name, value)
            detail |= {"share": values["second_reading"]} if "second_reading" in values else {}
            note_event(session, kind, by=by, project=project.id, subject=project.id, **detail)
        return self.get(id)

    # Members

    def hand_over(self, taker: str, *, by: str | None, giver: str | None = None) -> builtins.list[Project]:
        """Make a person the owner of projects, including archived ones.

        Answers stay under the names of the people who gave them.

        Parameters
        ----------
        taker : str
            Id of the new owner.
        by : str or None
            Id of the person who makes the change, or None for the command line.
        giver : str, optional
            Id of the person who leaves the projects; if omitted, all projects without an owner who can sign in.

        Returns
        -------
        list[Project]
            The projects by name.

        Raises
        ------
        UsageError
            If the taker's account is closed, or taker and giver are the same person.
        """
        with self._db.writing() as session:
            _check_taker(session, taker, giver)
            if giver is None:
                local = session.scalars(_by_name(LOCAL_NAME)).first()
                leaving = None if local is None else local.id
                projects = [row.id for row in session.scalars(_WITHOUT_OWNER)]
            else:
                leaving = find(session, Person, giver).id
                projects = _owned_by(session, leaving)
            _move_projects(session, projects, leaving, taker, by=by)
            found = sa.select(Project).where(PROJECTS.c.id.in_(projects)).order_by(PROJECTS.c.name)
            return list(session.scalars(found))

    def without_owner(self) -> builtins.list[Project]:
        """Return the projects without an owner who can sign in, such as those made before there were accounts.

        Returns
        -------
        list[Project]
            The projects by name.
        """
        return self._all(_WITHOUT_OWNER)

    def role(self, project: str, user: str) -> str | None:
        """Return a person's role in a project.

        Parameters
        ----------
        project : str
            Id of the project.
        user : str
            Id of the person.

        Returns
        -------
        str or None
            The role, or None if the person is no member.
        """
        found = self.seen_by(project, user)
        return None if found is None else found[1]

    def seen_by(self, project: str, user: str) -> tuple[Project, str] | None:
        """Return a project with a person's role in it.

        Parameters
        ----------
        project : str
            Id of the project.
        user : str
            Id of the person.

        Returns
        -------
        tuple[Project, str] or None
            Project and role, or None if the person is no member or the project does not exist.
        """
        about = {"project": storable(str(project))[:64], "user": storable(str(user))[:64]}
        with self._db.reading() as session:
            row = session.execute(_SEEN, about).first()
        return None if row is None else (row.Project, row.role)

    def members(self, project: str) -> builtins.list[Member]:
        """Return the members of a project by name.

        Parameters
        ----------
        project : str
            Id of the project.

        Returns
        -------
        list[Member]
            The members.
        """
        found = self._all(sa.select(Member).where(MEMBERS.c.project_id == project))
        return sorted(found, key=lambda row: fold_name(row.name))

    def add_member(self, project: str, person: str, role: str, *, by: str) -> None:
        """Add a person to a project, or change a member's role.

        Parameters
        ----------
        project : str
            Id of the project.
        person : str
            Id of the person.
        role : str
            Role: "viewer", "reviewer" or "owner".
        by : str
            Id of the person who makes the change.

        Raises
        ------
        UsageError
            If the role is unknown, or the person is the project's last owner and would lose that role.
        """
        choose_one(role, ROLES, "role")
        place = (MEMBERS.c.project_id == project, MEMBERS.c.person_id == person)
        with self._db.writing() as session:
            find(session, Project, project, lock=True)
            found = find(session, Person, person)
            # Giving another role to the last owner would leave the project without one.
            if role != OWNER:
                _require_other_owner(session, project, found)
            # Change the role of a member; add the person if they are none.
            if change(session, MEMBERS.update().where(*place).values(role=role)) == 0:
                add(session, Member(project=project, person=person, role=role))
            note_event(session, "member added", by=by, project=project, subject=person, role=role)

    def remove_member(self, project: str, person: str, *, by: str) -> None:
        """Remove a person from a project; the person's decisions stay.

        Parameters
        ----------
        project : str
            Id of the project.
        person : str
            Id of the person.
        by : str
            Id of the person who makes the change.

        Raises
        ------
        UsageError
            If the person is the project's last owner.
        """
        with self._db.writing() as session:
            find(session, Project, project, lock=True)
            _require_other_owner(session, project, find(session, Person, person))
            found = MEMBERS.delete().where(MEMBERS.c.project_id == project, MEMBERS.c.person_id == person)
            if change(session, found):
                note_event(session, "member removed", by=by, project=project, subject=person)


def _other_owners(session: Session, project: str, person: Any) -> bool:
    """Return whether a project has another owner who can use the workspace as well as this person."""
    query = (
        sa.select(MEMBERS.c.person_id)
        .join(PEOPLE, PEOPLE.c.id == MEMBERS.c.person_id)
        .where(MEMBERS.c.project_id == project, MEMBERS.c.role == OWNER, PEOPLE.c.id != person.id, _as_able_as(person))
        .limit(1)
    )
    return session.execute(query).first() is not None


def _require_other_owner(session: Session, project: str, person: Any) -> None:
    """Raise an error if a person is the last owner of a project."""
    if project in _owned_by(session, person.id) and not _other_owners(session, project, person):
        raise UsageError(f"{person.name!r} is the last owner of this project; make somebody else an owner first.")


def _check_taker(session: Session, taker: str, giver: str | None) -> None:
    """Raise an error if a person cannot take over projects from another one."""
    if find(session, Person, taker).disabled:
        raise UsageError("The account that should get the projects is closed; reopen it first.")
    if giver == taker:
        raise UsageError("The projects would stay with the same person; name somebody else.")


def _owned_by(session: Session, person: str) -> list[str]:
    """Return the ids of the projects that a person owns."""
    query = sa.select(MEMBERS.c.project_id).where(MEMBERS.c.person_id == person, MEMBERS.c.role == OWNER)
    return list(session.scalars(query))


def _move_projects(session: Session, projects: Sequence[str], giver: str | None, taker: str, *, by: str | None) -> None:
    """Make the taker the owner of projects and remove the giver from them, in an open transaction."""
    m = MEMBERS.c
    for project in projects:
        # The taker may be a member already, with another role.
        session.execute(MEMBERS.delete().where(m.project_id == project, m.person_id.in_([giver, taker])))
        add(session, Member(project=project, person=taker, role=OWNER))
        note_event(session, "project handed over", by=by, project=project, subject=taker, giver=giver)
