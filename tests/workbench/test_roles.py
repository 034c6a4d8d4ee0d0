"""Who may call what: every operation of the JSON interface and every page, as the application itself lists them.

The table names what differs from the rule; an operation that is added later is asked, too.
"""

import io

import pytest
from workbench_server import PASSWORD

# Operations that anybody may call, that any account may call, and that only an owner of the workspace may call.
FREE = {
    ("get", "/api/session"),
    ("post", "/api/session"),
    ("post", "/api/password/{token}"),
    ("post", "/api/join/{token}"),
}
ANYBODY = {("get", "/api/projects"), ("delete", "/api/session"), ("post", "/api/password"), ("post", "/api/label")}
# In a project, reading needs a viewer and changes need an owner, except for the decisions of reviewers.
DECISIONS = ("/teach", "/queue", "/skip", "/answers", "/undo", "/words", "/words/{word}", "/rename", "/merge",
             "/groups/class", "/subtopics", "/checks", "/next", "/accept", "/exports")  # fmt: skip
RANKS = ("outsider", "viewer", "reviewer", "owner")
# Values of parameters and fields; ids of the project come from the fixture.
GIVEN = {
    "table": "hero", "word": "price", "other": "nobody", "label": "price", "n": 1, "size": 5, "threshold": 0.5,
    "text": ["comment"], "name": "x", "group": "x", "into": "y", "kind": "labels", "format": "csv", "role": "viewer",
    "within": "price", "names": {"1": "x"}, "token": "none", "password": PASSWORD, "old": "wrong password",
    "person": "nobody",
    "texts": ["kind staff"],
}  # fmt: skip
OWNED = ("run", "a", "b", "collection", "sample", "document", "target", "sources", "extras", "annotator")


@pytest.fixture(scope="module")
def team(serve, workspace, project):
    """A server with accounts: an owner of the workspace, and one member of the project for each role."""
    server, local = serve(workspace, accounts=True), workspace.people.local().id
    server.account("Olga", "owner")
    for role in RANKS[1:]:
        person = server.account(role, "reviewer")
        workspace.projects.add_member(project.id, person.id, role, by=local)
    server.account("outsider", "reviewer")
    return server


@pytest.fixture(scope="module")
def operations(team):
    """Method, address and description of every operation."""
    paths = team.client().get("/api/openapi.json").json()
    return paths["components"]["schemas"], [
        (method, path, operation) for path, methods in paths["paths"].items() for method, operation in methods.items()
    ]


def needed(method, path):
    """The least role for an operation in a project."""
    if method == "get":
        return "reviewer" if path.endswith("/subtopics") else "viewer"
    return "reviewer" if path.endswith(DECISIONS) else "owner"


def values(schemas, operation, given):
    """Arguments of httpx for an operation, and the names of everything that it takes."""
    query = {row["name"]: given[row["name"]] for row in operation.get("parameters", [])
             if row["in"] == "query" and row["name"] in given}  # fmt: skip
    names = {row["name"] for row in operation.get("parameters", [])}
    options = {"params": query}
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        schema = content["schema"]
        schema = schema.get("allOf", [schema])[0]
        fields = schemas[schema["$ref"].rpartition("/")[2]]["properties"] if "$ref" in schema else {}
        names |= set(fields)
        sent = {name: given[name] for name in fields if name in given}
        if kind == "application/json":
            options["json"] = sent
        else:
            files = {name: ("a.csv", io.BytesIO(b"document,true_label\n1,x\n")) for name in fields
                     if name in ("file", "source", "target")}  # fmt: skip
            options |= {"files": files, "data": {"kind": "source", "by": "x"} if "file" in files else {}}
    return names, options


def ids_of(workspace, run, place, person):
    """Objects of a project by the names under which operations ask for them."""
    kinds = {docs.kind: docs.id for docs in workspace.collections.list(run.project)}
    entries = [{"row": 0, "label": "x", "by": "gpt"}]
    return {
        "project": run.project,
        **dict.fromkeys(("run", "a", "b"), run.id),
        **dict.fromkeys(("collection", "target"), kinds["target"]),
        "sample": workspace.checks.draw(run.id, 5, by=person, threshold=0.01).id,
        "sources": [kinds["source"]],
        "extras": [kinds["target"]],
        "annotator": workspace.annotators.add(run.id, entries, file="a.csv", by=person)[-1].id,
        "document": workspace.runs.predictions(run.id, limit=200)[place].document,
    }


def test_every_operation_asks_for_its_role(team, operations, project, run, workspace):
    schemas, rows = operations
    assert len(rows) > 65
    clients = {role: team.signed_in(role) for role in RANKS} | {"stranger": team.client()}
    given = {**GIVEN, "project": project.id, "run": "none", "a": "none", "b": "none", "document": "none"}
    given |= dict.fromkeys(("collection", "sample", "annotator", "target"), "none")
    wrong = []
    for method, path, operation in rows:
        if path.endswith("/session") and method != "get":  # signing in and out has tests of its own
            continue
        for who, client in clients.items():
            _, options = values(schemas, operation, given)
            status = client.request(method, path.format(**given), **options).status_code
            if (method, path) in FREE:
                right = status not in (401, 403)
            elif who == "stranger":
                right = status == 401
            elif "{project}" not in path:
                allowed = (method, path) in ANYBODY  # nobody here is an owner of the workspace
                right = (status == 403) is not allowed and status != 401
            elif who == "outsider":
                right = status == 404
            else:
                may = RANKS.index(who) >= RANKS.index(needed(method, path))
                # What one may do meets objects that do not exist, or succeeds.
                right = (status != 403) is may and status != 401
            if not right:
                wrong.append((method, path, who, status))
    workspace.projects.archive(project.id, by=workspace.people.local().id, archived=False)
    workspace.projects.rename(project.id, "Dealers", by=workspace.people.local().id)
    assert not wrong


def test_every_page_asks_for_its_role(team, project):
    viewer, outsider, stranger = (team.signed_in("viewer"), team.signed_in("outsider"), team.client())
    given = dict.fromkeys(("collection", "run", "check", "token"), "none") | {"project": project.id}
    free = {"/", "/sign-in", "/join/{token}", "/password/{token}", "/health", "/static/report.css"}
    pages = [route.path for route in team.routes() if not route.path.startswith("/api")]
    assert len(pages) > 25
    for path in pages:
        answers = [client.get(path.format(**given)) for client in (viewer, outsider, stranger)]
        mine, theirs, nobodys = (answer.status_code for answer in answers)
        if path in free:
            assert max(mine, theirs, nobodys) < 400, path
            continue
        assert answers[2].headers["location"].startswith("/sign-in"), path
        if "{project}" in path:
            assert (mine in (200, 404, 303), theirs) == (True, 404), path
        else:
            assert mine == theirs == (403 if path == "/people" else 200), path


def test_objects_of_another_project_are_not_found(server, operations, workspace, project, run, untouched):
    """Each id is tried alone, with everything else of one's own project."""
    schemas, rows = operations
    person, client = workspace.people.local().id, server.client()
    mine, theirs = ids_of(workspace, untouched[1], 5, person), ids_of(workspace, run, 150, person)
    text = workspace.documents.get(theirs["document"]).text
    log = f"/api/projects/{project.id}/events?limit=500"
    before, asked = client.get(log).json(), 0
    for method, path, operation in rows:
        names, _ = values(schemas, operation, GIVEN)
        if "{project}" not in path:
            continue
        for owned in sorted(names & set(OWNED)):
            given = {**GIVEN, **mine, owned: theirs[owned]}
            _, options = values(schemas, operation, given)
            if owned == "target" and "files" in options:  # a file of this name is no object
                continue
            answer = client.request(method, path.format(**given), **options)
            asked += 1
            # A document that one has not leased is skipped in vain.
            skipped = path.endswith("/skip") and owned == "document"
            assert answer.status_code == (200 if skipped else 404), (method, path, owned, answer.text[:100])
            assert text not in answer.text
    assert asked > 40
    assert client.get(log).json() == before, "nothing of theirs was changed"
    for page in ("/runs/{run}", "/data/{collection}", "/check/{sample}/desk", "/review?run={run}", "/groups?run={run}",
                 "/review?document={document}", "/compare?a={run}", "/export?run={run}"):  # fmt: skip
        assert client.get(f"/projects/{mine['project']}" + page.format(**theirs)).status_code in (404, 200)


def test_a_role_that_is_removed_is_gone_with_the_next_request(team, workspace, project, run):
    rita, local = team.account("rita", "reviewer"), workspace.people.local().id
    workspace.projects.add_member(project.id, rita.id, "reviewer", by=local)
    client = team.signed_in("rita")
    texts = {"run": run.id, "texts": ["The price was too high."]}
    assert client.post("/api/label", json=texts).status_code == 200
    workspace.projects.add_member(project.id, rita.id, "viewer", by=local)
    assert client.post("/api/label", json=texts).status_code == 403
    workspace.projects.remove_member(project.id, rita.id, by=local)
    assert client.post("/api/label", json=texts).status_code == 404
    assert client.get(f"/projects/{project.id}").status_code == 404
