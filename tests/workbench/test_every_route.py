"""Every address that takes the id of a run, a file, a sample or a document: one of another project is not there.

The addresses come from the application itself, so that one which is added later is asked too. Each id is tried alone,
with everything else of one's own project.
"""

from fastapi.params import File

OWNED = ("run", "a", "b", "collection", "sample", "check", "document", "target", "sources", "extras", "hand")
OTHERS = {
    "table": "hero", "word": "price", "other": "nobody", "label": "price", "n": 1, "size": 5, "threshold": 0.5,
    "text": ["comment"], "name": "x", "group": "x", "into": "y", "kind": "labels", "format": "csv",
    "within": "price", "names": {"1": "x"}, "number": "1",
}  # fmt: skip


TABLE = b"document,true_label\n1,x\n"


def parameters(route):
    """Names that an address takes: in its path, behind the question mark, in a form, in a JSON body."""
    own = route.dependant
    names = {"path": {field.alias for field in own.path_params}, "query": {field.alias for field in own.query_params}}
    names |= {"form": set(), "json": set(), "file": set()}
    for field in own.body_params:
        if isinstance(field.field_info, File):  # the content of a file names nothing
            names["file"].add(field.alias)
            continue
        model = getattr(field.field_info.annotation, "model_fields", None)
        names["form" if model is None else "json"] |= {field.alias} if model is None else set(model)
    return names


def ids_of(workspace, run, place, person):
    """Things of a project by the names under which addresses ask for them."""
    kinds = {docs.kind: docs.id for docs in workspace.collections.list(run.project)}
    sample = workspace.checks.draw(run.id, 5, by=person, threshold=0.01).id
    return {
        **dict.fromkeys(("run", "a", "b"), run.id),
        **dict.fromkeys(("collection", "target"), kinds["target"]),
        **dict.fromkeys(("sample", "check"), sample),
        "sources": [kinds["source"]],
        "extras": [kinds["target"]],
        "hand": hand_of(workspace, run, person),
        "document": workspace.runs.predictions(run.id, limit=200)[place].document,
    }


def hand_of(workspace, run, person):
    """A file of machine answers of the run's project."""
    return workspace.hands.add(run.id, [{"row": 0, "label": "x", "by": "gpt"}], file="a.csv", by=person)[-1].id


def test_things_of_another_project_are_not_there(server, client, workspace, project, run, untouched):
    person = workspace.people.local().id
    own, mine = untouched[0].id, ids_of(workspace, untouched[1], 5, person)
    theirs = ids_of(workspace, run, 150, person)
    text = workspace.documents.get(theirs["document"]).text
    log = f"/api/projects/{project.id}/events?limit=500"
    before = client.get(log).json()
    server.bench.runs[run.id] = run  # kept at hand, as once somebody of that project has read at the desk
    asked, wrong = 0, []
    for route in server.routes():
        if "{project}" not in route.path:
            continue
        names = parameters(route)
        for owned in OWNED:
            if not any(owned in names[part] for part in ("path", "query", "form", "json")):
                continue
            given = {**OTHERS, **mine, owned: theirs[owned]}
            asked += 1
            for method in route.methods - {"HEAD"}:
                sent = {key: given[key] for key in names["json"] if key in given}
                form = {key: given[key] for key in names["form"] if key in given}
                answer = client.request(
                    method, route.path.format(**{**given, "project": own}),
                    params={key: given[key] for key in names["query"] if key in given},
                    **({"json": sent} if names["json"] else {"data": form} if form else {}),
                    **({"files": dict.fromkeys(names["file"], ("a.csv", TABLE))} if names["file"] else {}),
                )  # fmt: skip
                refused = answer.status_code == 404
                # Asked for by a filter, a page may show what is one's own instead; an address of another project's
                # thing is never there. Putting back what one does not hold does nothing.
                filtered = method == "GET" and owned not in names["path"]
                harmless = filtered or (route.path.endswith("/skip") and owned == "document")
                silent = answer.status_code == 200 and not any(mark in answer.text for mark in (text, theirs["run"]))
                if not refused and not (harmless and silent):
                    wrong.append(f"{method} {route.path} with another project's {owned}: {answer.status_code}")
    assert wrong == []
    assert asked > 60
    assert client.get(log).json() == before
