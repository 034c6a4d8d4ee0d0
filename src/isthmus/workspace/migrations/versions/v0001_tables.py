"""The first form of the tables, as SQL. Later changes of the schema never change this migration."""

from alembic import op

revision = "0001"
down_revision = None

_WORDS = {
    "sqlite": {
        "time": "DATETIME",
        "number": "INTEGER",
        "bytes": "BLOB",
        "sorted": "VARCHAR(200)",
        "holds": "current = 1",
    },
    "postgresql": {
        "time": "TIMESTAMP WITH TIME ZONE",
        "number": "BIGSERIAL",
        "bytes": "BYTEA",
        "sorted": 'VARCHAR(200) COLLATE "C"',
        "holds": "current",
    },
}
# The databases differ in the types in braces.
_TABLES = """
CREATE TABLE files (
    sha256 VARCHAR(64) NOT NULL,
    size BIGINT NOT NULL,
    created_at {time} NOT NULL,
    CONSTRAINT pk_files PRIMARY KEY (sha256)
);

CREATE TABLE people (
    id VARCHAR(32) NOT NULL,
    name VARCHAR(200) NOT NULL,
    folded_name VARCHAR(200) NOT NULL,
    password_hash TEXT,
    role VARCHAR(20) NOT NULL,
    session_key VARCHAR(32) NOT NULL,
    disabled BOOLEAN NOT NULL,
    created_at {time} NOT NULL,
    CONSTRAINT pk_people PRIMARY KEY (id),
    CONSTRAINT uq_people_folded_name UNIQUE (folded_name)
);

CREATE TABLE projects (
    id VARCHAR(32) NOT NULL,
    name VARCHAR(200) NOT NULL,
    created_by VARCHAR(32) NOT NULL,
    created_at {time} NOT NULL,
    archived_at {time},
    second_reading FLOAT DEFAULT '0' NOT NULL,
    CONSTRAINT pk_projects PRIMARY KEY (id),
    CONSTRAINT fk_projects_created_by FOREIGN KEY(created_by) REFERENCES people (id)
);

CREATE TABLE collections (
    id VARCHAR(32) NOT NULL,
    project_id VARCHAR(32) NOT NULL,
    name VARCHAR(300) NOT NULL,
    ending VARCHAR(20) NOT NULL,
    kind VARCHAR(10) NOT NULL,
    sha256 VARCHAR(64) NOT NULL,
    state VARCHAR(20) NOT NULL,
    mapping JSON,
    preview JSON NOT NULL,
    documents INTEGER NOT NULL,
    labelled INTEGER NOT NULL,
    facts JSON,
    created_by VARCHAR(32) NOT NULL,
    created_at {time} NOT NULL,
    removed_at {time},
    CONSTRAINT pk_collections PRIMARY KEY (id),
    CONSTRAINT fk_collections_project_id FOREIGN KEY(project_id) REFERENCES projects (id),
    CONSTRAINT fk_collections_sha256 FOREIGN KEY(sha256) REFERENCES files (sha256),
    CONSTRAINT fk_collections_created_by FOREIGN KEY(created_by) REFERENCES people (id)
);

CREATE INDEX ix_collections_project_id ON collections (project_id, created_at);

CREATE TABLE events (
    number {number} NOT NULL,
    at {time} NOT NULL,
    "by" VARCHAR(32),
    project_id VARCHAR(32),
    kind VARCHAR(40) NOT NULL,
    subject VARCHAR(64) NOT NULL,
    detail JSON NOT NULL,
    CONSTRAINT pk_events PRIMARY KEY (number),
    CONSTRAINT fk_events_by FOREIGN KEY("by") REFERENCES people (id),
    CONSTRAINT fk_events_project_id FOREIGN KEY(project_id) REFERENCES projects (id)
);

CREATE INDEX ix_events_project_id ON events (project_id, number);

CREATE TABLE invitations (
    id VARCHAR(32) NOT NULL,
    token_hash VARCHAR(64) NOT NULL,
    role VARCHAR(20) NOT NULL,
    project_id VARCHAR(32),
    created_by VARCHAR(32) NOT NULL,
    created_at {time} NOT NULL,
    expires_at {time} NOT NULL,
    used_at {time},
    used_by VARCHAR(32),
    CONSTRAINT pk_invitations PRIMARY KEY (id),
    CONSTRAINT uq_invitations_token_hash UNIQUE (token_hash),
    CONSTRAINT fk_invitations_project_id FOREIGN KEY(project_id) REFERENCES projects (id),
    CONSTRAINT fk_invitations_created_by FOREIGN KEY(created_by) REFERENCES people (id),
    CONSTRAINT fk_invitations_used_by FOREIGN KEY(used_by) REFERENCES people (id)
);

CREATE TABLE members (
    project_id VARCHAR(32) NOT NULL,
    person_id VARCHAR(32) NOT NULL,
    role VARCHAR(20) NOT NULL,
    since {time} NOT NULL,
    CONSTRAINT pk_members PRIMARY KEY (project_id, person_id),
    CONSTRAINT fk_members_project_id FOREIGN KEY(project_id) REFERENCES projects (id),
    CONSTRAINT fk_members_person_id FOREIGN KEY(person_id) REFERENCES people (id)
);

CREATE INDEX ix_members_person_id ON members (person_id);

CREATE TABLE words (
    number {number} NOT NULL,
    id VARCHAR(32) NOT NULL,
    project_id VARCHAR(32) NOT NULL,
    word VARCHAR(200) NOT NULL,
    label TEXT NOT NULL,
    "by" VARCHAR(32) NOT NULL,
    at {time} NOT NULL,
    removed_at {time},
    removed_by VARCHAR(32),
    CONSTRAINT pk_words PRIMARY KEY (number),
    CONSTRAINT uq_words_id UNIQUE (id),
    CONSTRAINT fk_words_project_id FOREIGN KEY(project_id) REFERENCES projects (id),
    CONSTRAINT fk_words_by FOREIGN KEY("by") REFERENCES people (id),
    CONSTRAINT fk_words_removed_by FOREIGN KEY(removed_by) REFERENCES people (id)
);

CREATE INDEX ix_words_project_id ON words (project_id, word);

CREATE UNIQUE INDEX uq_words_current ON words (project_id, word) WHERE removed_at IS NULL;

CREATE TABLE documents (
    id VARCHAR(32) NOT NULL,
    collection_id VARCHAR(32) NOT NULL,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    text TEXT NOT NULL,
    label TEXT,
    CONSTRAINT pk_documents PRIMARY KEY (id),
    CONSTRAINT uq_documents_collection_id_position UNIQUE (collection_id, position),
    CONSTRAINT fk_documents_collection_id FOREIGN KEY(collection_id) REFERENCES collections (id)
);

CREATE TABLE runs (
    id VARCHAR(32) NOT NULL,
    project_id VARCHAR(32) NOT NULL,
    number INTEGER NOT NULL,
    kind VARCHAR(20) NOT NULL,
    name VARCHAR(200) NOT NULL,
    state VARCHAR(20) NOT NULL,
    target_id VARCHAR(32) NOT NULL,
    base_id VARCHAR(32),
    parent_id VARCHAR(32),
    parameters JSON NOT NULL,
    record JSON NOT NULL,
    summary JSON,
    error TEXT,
    created_by VARCHAR(32) NOT NULL,
    created_at {time} NOT NULL,
    started_at {time},
    finished_at {time},
    CONSTRAINT pk_runs PRIMARY KEY (id),
    CONSTRAINT uq_runs_project_id_number UNIQUE (project_id, number),
    CONSTRAINT fk_runs_project_id FOREIGN KEY(project_id) REFERENCES projects (id),
    CONSTRAINT fk_runs_target_id FOREIGN KEY(target_id) REFERENCES collections (id),
    CONSTRAINT fk_runs_base_id FOREIGN KEY(base_id) REFERENCES runs (id),
    CONSTRAINT fk_runs_parent_id FOREIGN KEY(parent_id) REFERENCES runs (id),
    CONSTRAINT fk_runs_created_by FOREIGN KEY(created_by) REFERENCES people (id)
);

CREATE TABLE terms (
    collection_id VARCHAR(32) NOT NULL,
    term {sorted} NOT NULL,
    word {sorted} NOT NULL,
    documents INTEGER NOT NULL,
    positions {bytes} NOT NULL,
    CONSTRAINT pk_terms PRIMARY KEY (collection_id, term),
    CONSTRAINT fk_terms_collection_id FOREIGN KEY(collection_id) REFERENCES collections (id)
);

CREATE INDEX ix_terms_word ON terms (collection_id, word);

CREATE INDEX ix_terms_documents ON terms (collection_id, documents);

CREATE TABLE answers (
    number {number} NOT NULL,
    id VARCHAR(32) NOT NULL,
    project_id VARCHAR(32) NOT NULL,
    document_id VARCHAR(32) NOT NULL,
    run_id VARCHAR(32),
    label TEXT NOT NULL,
    drawn VARCHAR(10) NOT NULL,
    kind VARCHAR(10) NOT NULL,
    batch VARCHAR(32) NOT NULL,
    "by" VARCHAR(32) NOT NULL,
    at {time} NOT NULL,
    current BOOLEAN NOT NULL,
    undone_at {time},
    undone_by VARCHAR(32),
    token VARCHAR(64),
    CONSTRAINT pk_answers PRIMARY KEY (number),
    CONSTRAINT uq_answers_id UNIQUE (id),
    CONSTRAINT fk_answers_project_id FOREIGN KEY(project_id) REFERENCES projects (id),
    CONSTRAINT fk_answers_document_id FOREIGN KEY(document_id) REFERENCES documents (id),
    CONSTRAINT fk_answers_run_id FOREIGN KEY(run_id) REFERENCES runs (id),
    CONSTRAINT fk_answers_by FOREIGN KEY("by") REFERENCES people (id),
    CONSTRAINT fk_answers_undone_by FOREIGN KEY(undone_by) REFERENCES people (id)
);

CREATE INDEX ix_answers_document_id ON answers (document_id, number);

CREATE INDEX ix_answers_project_id ON answers (project_id, number);

CREATE INDEX ix_answers_batch ON answers (batch);

CREATE INDEX ix_answers_by ON answers ("by", project_id, number);

CREATE UNIQUE INDEX uq_answers_token ON answers (document_id, "by", token);

CREATE UNIQUE INDEX uq_answers_current ON answers (document_id) WHERE {holds};

CREATE TABLE checks (
    id VARCHAR(32) NOT NULL,
    run_id VARCHAR(32) NOT NULL,
    size INTEGER NOT NULL,
    seed BIGINT NOT NULL,
    threshold FLOAT,
    created_by VARCHAR(32) NOT NULL,
    created_at {time} NOT NULL,
    CONSTRAINT pk_checks PRIMARY KEY (id),
    CONSTRAINT fk_checks_run_id FOREIGN KEY(run_id) REFERENCES runs (id),
    CONSTRAINT fk_checks_created_by FOREIGN KEY(created_by) REFERENCES people (id)
);

CREATE INDEX ix_checks_run_id ON checks (run_id, created_at);

CREATE TABLE class_names (
    number {number} NOT NULL,
    id VARCHAR(32) NOT NULL,
    project_id VARCHAR(32) NOT NULL,
    run_id VARCHAR(32),
    kind VARCHAR(20) NOT NULL,
    "old" TEXT NOT NULL,
    "new" TEXT NOT NULL,
    "by" VARCHAR(32) NOT NULL,
    at {time} NOT NULL,
    undone_at {time},
    undone_by VARCHAR(32),
    CONSTRAINT pk_class_names PRIMARY KEY (number),
    CONSTRAINT uq_class_names_id UNIQUE (id),
    CONSTRAINT fk_class_names_project_id FOREIGN KEY(project_id) REFERENCES projects (id),
    CONSTRAINT fk_class_names_run_id FOREIGN KEY(run_id) REFERENCES runs (id),
    CONSTRAINT fk_class_names_by FOREIGN KEY("by") REFERENCES people (id),
    CONSTRAINT fk_class_names_undone_by FOREIGN KEY(undone_by) REFERENCES people (id)
);

CREATE INDEX ix_class_names_project_id ON class_names (project_id, number);

CREATE TABLE exports (
    id VARCHAR(32) NOT NULL,
    project_id VARCHAR(32) NOT NULL,
    run_id VARCHAR(32),
    kind VARCHAR(20) NOT NULL,
    ending VARCHAR(20) NOT NULL,
    name VARCHAR(300) NOT NULL,
    sha256 VARCHAR(64) NOT NULL,
    size BIGINT NOT NULL,
    created_by VARCHAR(32) NOT NULL,
    created_at {time} NOT NULL,
    CONSTRAINT pk_exports PRIMARY KEY (id),
    CONSTRAINT fk_exports_project_id FOREIGN KEY(project_id) REFERENCES projects (id),
    CONSTRAINT fk_exports_run_id FOREIGN KEY(run_id) REFERENCES runs (id),
    CONSTRAINT fk_exports_created_by FOREIGN KEY(created_by) REFERENCES people (id)
);

CREATE INDEX ix_exports_project_id ON exports (project_id, created_at);

CREATE TABLE jobs (
    id VARCHAR(32) NOT NULL,
    kind VARCHAR(20) NOT NULL,
    project_id VARCHAR(32),
    run_id VARCHAR(32),
    payload JSON NOT NULL,
    state VARCHAR(20) NOT NULL,
    progress JSON NOT NULL,
    result JSON,
    error TEXT,
    error_code VARCHAR(40),
    attempts INTEGER NOT NULL,
    cancel BOOLEAN NOT NULL,
    created_by VARCHAR(32),
    created_at {time} NOT NULL,
    started_at {time},
    heartbeat_at {time},
    finished_at {time},
    CONSTRAINT pk_jobs PRIMARY KEY (id),
    CONSTRAINT fk_jobs_project_id FOREIGN KEY(project_id) REFERENCES projects (id),
    CONSTRAINT fk_jobs_run_id FOREIGN KEY(run_id) REFERENCES runs (id),
    CONSTRAINT fk_jobs_created_by FOREIGN KEY(created_by) REFERENCES people (id)
);

CREATE INDEX ix_jobs_run_id ON jobs (run_id);

CREATE INDEX ix_jobs_state ON jobs (state, created_at);

CREATE INDEX ix_jobs_project_id ON jobs (project_id, created_at);

CREATE TABLE predictions (
    run_id VARCHAR(32) NOT NULL,
    position INTEGER NOT NULL,
    document_id VARCHAR(32) NOT NULL,
    label TEXT NOT NULL,
    confidence FLOAT NOT NULL,
    needs_review BOOLEAN NOT NULL,
    second TEXT NOT NULL,
    second_confidence FLOAT NOT NULL,
    novel_group TEXT NOT NULL,
    near JSON NOT NULL,
    rank INTEGER NOT NULL,
    reason TEXT NOT NULL,
    state VARCHAR(10) NOT NULL,
    leased_to VARCHAR(32),
    leased_until {time},
    asked_at {time},
    drawn VARCHAR(10) DEFAULT 'asked' NOT NULL,
    CONSTRAINT pk_predictions PRIMARY KEY (run_id, position),
    CONSTRAINT fk_predictions_run_id FOREIGN KEY(run_id) REFERENCES runs (id),
    CONSTRAINT fk_predictions_document_id FOREIGN KEY(document_id) REFERENCES documents (id),
    CONSTRAINT fk_predictions_leased_to FOREIGN KEY(leased_to) REFERENCES people (id)
);

CREATE UNIQUE INDEX ix_predictions_document_id ON predictions (document_id, run_id);

CREATE INDEX ix_predictions_queue ON predictions (run_id, state, rank);

CREATE INDEX ix_predictions_review ON predictions (run_id, needs_review, state);

CREATE TABLE run_tables (
    run_id VARCHAR(32) NOT NULL,
    name VARCHAR(80) NOT NULL,
    content JSON NOT NULL,
    CONSTRAINT pk_run_tables PRIMARY KEY (run_id, name),
    CONSTRAINT fk_run_tables_run_id FOREIGN KEY(run_id) REFERENCES runs (id)
);

CREATE TABLE checked (
    check_id VARCHAR(32) NOT NULL,
    place INTEGER NOT NULL,
    document_id VARCHAR(32) NOT NULL,
    position INTEGER NOT NULL,
    leased_to VARCHAR(32),
    leased_until {time},
    answer_id VARCHAR(32),
    CONSTRAINT pk_checked PRIMARY KEY (check_id, place),
    CONSTRAINT fk_checked_check_id FOREIGN KEY(check_id) REFERENCES checks (id),
    CONSTRAINT fk_checked_document_id FOREIGN KEY(document_id) REFERENCES documents (id),
    CONSTRAINT fk_checked_leased_to FOREIGN KEY(leased_to) REFERENCES people (id),
    CONSTRAINT fk_checked_answer_id FOREIGN KEY(answer_id) REFERENCES answers (id)
);

CREATE INDEX ix_checked_answer_id ON checked (answer_id);

CREATE TABLE ended_sessions (
    key_hash VARCHAR(64) NOT NULL,
    person_id VARCHAR(32) NOT NULL,
    until {time} NOT NULL,
    CONSTRAINT pk_ended_sessions PRIMARY KEY (key_hash),
    CONSTRAINT fk_ended_sessions_person_id FOREIGN KEY(person_id) REFERENCES people (id)
);

CREATE TABLE second_readings (
    document_id VARCHAR(32) NOT NULL,
    project_id VARCHAR(32) NOT NULL,
    first_by VARCHAR(32) NOT NULL,
    since {time} NOT NULL,
    leased_to VARCHAR(32),
    leased_until {time},
    answer_id VARCHAR(32),
    CONSTRAINT pk_second_readings PRIMARY KEY (document_id),
    CONSTRAINT fk_second_readings_document_id FOREIGN KEY(document_id) REFERENCES documents (id),
    CONSTRAINT fk_second_readings_project_id FOREIGN KEY(project_id) REFERENCES projects (id),
    CONSTRAINT fk_second_readings_first_by FOREIGN KEY(first_by) REFERENCES people (id),
    CONSTRAINT fk_second_readings_leased_to FOREIGN KEY(leased_to) REFERENCES people (id),
    CONSTRAINT fk_second_readings_answer_id FOREIGN KEY(answer_id) REFERENCES answers (id)
);

CREATE INDEX ix_second_readings_project_id ON second_readings (project_id, answer_id, since);

CREATE INDEX ix_second_readings_answer_id ON second_readings (answer_id);

CREATE TABLE annotators (
    id VARCHAR(32) NOT NULL,
    project_id VARCHAR(32) NOT NULL,
    target_id VARCHAR(32) NOT NULL,
    name VARCHAR(200) NOT NULL,
    file VARCHAR(300) NOT NULL,
    answers INTEGER NOT NULL,
    created_by VARCHAR(32) NOT NULL,
    created_at {time} NOT NULL,
    removed_at {time},
    removed_by VARCHAR(32),
    said JSON NOT NULL,
    CONSTRAINT pk_annotators PRIMARY KEY (id),
    CONSTRAINT fk_annotators_project_id FOREIGN KEY(project_id) REFERENCES projects (id),
    CONSTRAINT fk_annotators_target_id FOREIGN KEY(target_id) REFERENCES collections (id),
    CONSTRAINT fk_annotators_created_by FOREIGN KEY(created_by) REFERENCES people (id),
    CONSTRAINT fk_annotators_removed_by FOREIGN KEY(removed_by) REFERENCES people (id)
);

CREATE INDEX ix_annotators_project_id ON annotators (project_id, created_at);
"""


def upgrade() -> None:
    """Create the tables."""
    for statement in _TABLES.format_map(_WORDS[op.get_context().dialect.name]).split(";\n"):
        if statement.strip():
            op.execute(statement)
