"""What a hostile page, a hostile file or a curious colleague can try."""

import gzip
import io
import warnings
import zipfile
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from isthmus.exceptions import IsthmusWarning
from isthmus.workbench.sessions import Cookies, RateLimiter
from isthmus.workbench.settings import Settings
from isthmus.workspace.worker import work

PASSWORD = "correct horse battery"  # as in conftest
EVIL = "<script>document.title='owned'</script><img src=x onerror=alert(1)>\"'>{{7*7}}"


@pytest.fixture(scope="module")
def team(serve, workspace):
    """A server that demands accounts: two owners of the workspace, a reviewer and a viewer of Anna's project."""
    server = serve(workspace, accounts=True, max_upload=200_000, max_unpacked=5_000_000)
    for name in ("anna", "boris"):
        server.account(name)
    for name, role in (("rita", "reviewer"), ("vera", "viewer")):
        server.account(name, role)
    return server


@pytest.fixture(scope="module")
def anna(team):
    return team.signed_in("anna")


@pytest.fixture(scope="module")
def boris(team):
    return team.signed_in("boris")


@pytest.fixture(scope="module")
def hers(team, workspace, project):
    """The labelled project, handed to Anna; Rita reviews, Vera reads, Boris is a stranger."""
    local = workspace.people.local().id
    for name, role in (("anna", "owner"), ("rita", "reviewer"), ("vera", "viewer")):
        workspace.projects.add_member(project.id, workspace.people.by_name(name).id, role, by=local)
    return project.id


# ---- who may change


def test_a_change_without_the_token_is_refused(team, anna, hers):
    for headers in ({}, {"x-csrf-token": "0" * 64}, {"x-csrf-token": "ü"}):
        with httpx.Client(base_url=team.address, cookies=anna.cookies) as client:
            headers = {key: value.encode("utf-8") for key, value in headers.items()}
            for send in (
                {"json": {"name": "x"}},
                {"data": {"name": "x"}},
                {"content": b'{"name": "x"}', "headers": {"content-type": "text/plain"}},
                {"files": {"file": b"x"}},
            ):
                extra = {**headers, **send.pop("headers", {})}
                for address in (
                    "/api/projects",
                    f"/api/projects/{hers}/diagnoses",
                    f"/api/projects/{hers}/answers/undo",
                ):
                    assert client.post(address, headers=extra, **send).status_code == 403, (address, send)
    assert team.workspace.projects.get(hers).archived_at is None


def test_the_token_belongs_to_one_session(team, anna, boris):
    token = anna.headers["x-csrf-token"]
    answer = httpx.post(
        team.address + "/api/projects", json={"name": "x"}, cookies=dict(boris.cookies), headers={"x-csrf-token": token}
    )
    assert answer.status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_a_change_from_another_origin_is_refused(anna, headers):
    assert anna.post("/api/projects", json={"name": "x"}, headers=headers).status_code == 403


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "localhost.evil.example:80"])
def test_another_name_for_this_machine_is_not_answered(server, host):
    """A page elsewhere that points its own name at 127.0.0.1 gets nothing (DNS rebinding)."""
    answer = httpx.get(server.address + "/projects", headers={"host": host})
    assert answer.status_code in (400, 421)
    assert "Dealers" not in answer.text


# ---- owners who lock themselves out, closed accounts, forgotten passwords


def test_the_last_owner_of_a_project_cannot_step_down(team):
    me = team.account("olga").id
    client = team.signed_in("olga")
    project = client.post("/api/projects", json={"name": "Hers"}).json()["id"]
    answer = client.post(f"/api/projects/{project}/members", json={"person": me, "role": "viewer"})
    assert answer.status_code == 422
    assert "last owner" in answer.text
    assert team.workspace.projects.role(project, me) == "owner"


def test_an_account_is_closed_with_a_heir_and_opened_again(team, anna):
    paul = team.account("paul").id
    project = team.signed_in("paul").post("/api/projects", json={"name": "His"}).json()["id"]
    heir = team.workspace.people.by_name("anna").id
    refused = anna.delete(f"/api/people/{paul}")
    assert refused.status_code == 422
    assert "choose who takes over" in refused.text
    assert anna.patch(f"/api/people/{paul}", json={"disabled": True, "hand_over_to": heir}).json()["disabled"]
    assert "Reopen the account" in anna.get("/people").text
    assert not anna.patch(f"/api/people/{paul}", json={"disabled": False}).json()["disabled"]
    assert anna.get(f"/projects/{project}").status_code == 200
    team.signed_in("paul")


def test_a_forgotten_password_is_replaced_by_a_link_that_works_once(team, anna):
    quinn = team.account("quinn").id
    before = team.signed_in("quinn")
    made = anna.post(f"/api/people/{quinn}/password-link").json()
    assert made["link"] == f"{team.address}/password/{made['token']}"
    assert anna.get(made["link"]).status_code == 200
    address, send = f"/api/password/{made['token']}", {"json": {"password": "another horse battery"}}
    client = team.client()
    assert client.post(address[:-3] + "xxx", **send).status_code == 404
    assert client.post(address, **send).json()["name"] == "quinn"
    assert client.get("/api/session").json()["name"] == "quinn"
    assert team.client().post(address, **send).status_code == 404
    assert before.get("/api/session").json()["name"] is None  # sessions of the old password have ended


def test_ones_own_password_takes_the_old_one(team):
    team.account("sam")
    client = team.signed_in("sam")

    def change(old, new):
        return client.post("/api/password", json={"old": old, "password": new}).status_code

    assert change("wrong", "another horse battery") == 422
    assert change(PASSWORD, "short") == 422
    assert change(PASSWORD, "another horse battery") == 200
    assert client.get("/api/session").json()["name"] == "sam"
    assert client.get("/account").status_code == 200


def test_an_archived_project_is_restored(anna):
    project = anna.post("/api/projects", json={"name": "Put away"}).json()["id"]
    assert anna.delete(f"/api/projects/{project}").status_code == 200
    assert project not in [row["id"] for row in anna.get("/api/projects").json()]
    assert project in [row["id"] for row in anna.get("/api/projects", params={"archived": True}).json()]
    assert project in anna.get("/projects").text
    anna.patch(f"/api/projects/{project}", json={"archived": False})
    assert project in [row["id"] for row in anna.get("/api/projects").json()]


# ---- another's project


def test_another_owners_project_is_not_there(boris, hers, run, workspace):
    document = workspace.runs.predictions(run.id, limit=1)[0].document
    collection = workspace.collections.list(hers)[0].id
    for address in (
        f"/projects/{hers}", f"/projects/{hers}/data/{collection}", f"/projects/{hers}/runs/{run.id}",
        f"/projects/{hers}/review?document={document}", f"/projects/{hers}/export", f"/api/projects/{hers}",
        f"/api/projects/{hers}/runs/{run.id}/predictions", f"/api/projects/{hers}/events",
    ):  # fmt: skip
        answer = boris.get(address)
        assert answer.status_code == 404, address
        assert answer.text.count("Dealers") == 0
    assert hers not in boris.get("/projects").text


# ---- signing in


def test_a_session_made_before_signing_in_is_worth_nothing(team):
    """Session fixation: whoever plants a cookie does not get in with it."""
    planted = team.client()
    before = planted.cookies[team.bench.cookies.name]
    assert planted.post("/api/session", json={"name": "anna", "password": PASSWORD}).status_code == 200
    assert planted.cookies[team.bench.cookies.name] != before
    thief = httpx.get(team.address + "/projects", cookies={team.bench.cookies.name: before})
    assert thief.status_code == 303
    assert thief.headers["location"].startswith("/sign-in")


def test_a_cookie_cannot_be_made_up_or_changed(team, workspace):
    anna = workspace.people.by_name("anna")
    forged = Cookies(Settings(secret=b"x" * 32, accounts=True))
    header = forged.header(forged.new(anna.id, anna.session_key))
    real = team.signed_in("anna").cookies[team.bench.cookies.name]
    for value in (header.split("=", 1)[1].split(";")[0], real[:-2] + "xx", "x", "", "é"):
        answer = httpx.get(
            team.address + "/projects", headers={"cookie": f"{team.bench.cookies.name}={value}".encode()}
        )
        assert answer.status_code == 303


def test_cookies_are_kept_from_scripts_and_other_sites(team):
    header = httpx.get(team.address + "/sign-in").headers["set-cookie"]
    assert "HttpOnly" in header
    assert "SameSite=Lax" in header


def is_in(team, cookie):
    return httpx.get(team.address + "/projects", cookies={team.bench.cookies.name: cookie}).status_code == 200


def test_signing_out_ends_this_session_or_all_of_them(team):
    def sign_out(client, everywhere):
        return client.delete("/api/session", params={"everywhere": everywhere}).status_code == 200

    here, there, third = (team.signed_in("boris") for _ in range(3))
    kept = [client.cookies[team.bench.cookies.name] for client in (here, there, third)]
    assert sign_out(here, False)
    assert [is_in(team, cookie) for cookie in kept] == [False, True, True]  # also for who kept a copy of the cookie
    assert sign_out(there, True)
    assert [is_in(team, cookie) for cookie in kept] == [False, False, False]
    assert is_in(team, team.signed_in("boris").cookies[team.bench.cookies.name])
    # The browser whose session was ended elsewhere gets another one, so that signing in works from there.
    assert third.get("/sign-in").status_code == 200
    assert third.cookies[team.bench.cookies.name] != kept[2]
    third.renew()
    assert third.post("/api/session", json={"name": "boris", "password": PASSWORD}).status_code == 200


def test_a_closed_account_is_out_at_once(team, anna, workspace):
    team.account("greg", "reviewer")
    greg = team.signed_in("greg")
    assert greg.get("/projects").status_code == 200
    assert anna.delete(f"/api/people/{workspace.people.by_name('greg').id}").status_code == 200
    assert greg.get("/projects").status_code == 303
    refused = team.client().post("/api/session", json={"name": "greg", "password": PASSWORD})
    assert refused.status_code == 401


def test_who_is_not_signed_in_is_sent_to_the_door_and_a_script_is_told_so(team):
    stranger = team.client()
    page = stranger.get("/projects")
    assert (page.status_code, page.headers["location"]) == (303, "/sign-in?next=/projects")
    part = stranger.get("/projects", headers={"HX-Request": "true"})
    assert (part.status_code, part.headers["HX-Redirect"]) == (204, "/sign-in?next=/projects")
    script = stranger.get("/api/projects")
    assert script.status_code == 401
    assert script.json()["code"] == "sign-in-needed"


def test_on_one_persons_machine_there_is_no_door(client):
    """Nobody signs in or is invited, by page or by script, and signing out leads back to the work."""
    arrived = client.get("/sign-in?next=/projects/new")
    assert (arrived.status_code, arrived.headers["location"]) == (303, "/projects/new")
    tried = {"name": "anna", "password": PASSWORD}
    refused = [
        client.post("/api/session", json=tried),
        client.get("/join/some-token"),
        client.post("/api/join/some-token", json=tried),
        client.post("/api/password/some-token", json={"password": PASSWORD}),
        client.post("/api/password", json={"old": "", "password": PASSWORD}),
    ]
    assert [answer.status_code for answer in refused] == [404] * 5
    assert ["accepts local connections only" in answer.text for answer in refused] == [True] * 5
    assert client.delete("/api/session").status_code == 200
    client.renew()
    assert client.get("/projects").status_code == 200


def test_guessing_is_slowed_down(team):
    team.account("mona", "viewer")
    client = team.client()
    for _ in range(5):
        assert client.post("/api/session", json={"name": "mona", "password": "wrong password"}).status_code == 401
    slowed = client.post("/api/session", json={"name": " MONA ", "password": PASSWORD})
    assert slowed.status_code == 429
    assert "minutes" in slowed.text
    assert int(slowed.headers["retry-after"]) > 60
    assert client.post("/api/session", json={"name": "z" * 1_000, "password": "wrong password"}).status_code == 401
    refused = [
        row.detail["name"]
        for row in team.workspace.audit.events(latest=True, limit=20)
        if row.kind == "sign-in refused"
    ]
    assert refused.count("mona") == 5
    assert max(refused, key=len) == "z" * 200, "a stranger does not fill the log"
    team.bench.by_address.cleared("127.0.0.1")


def test_a_name_written_in_other_ways_is_the_same_name_to_the_brake(team):
    team.account("nora", "viewer")
    client = team.client()
    spellings = ["nora", " nora", "NORA", "no\x00ra", "nora\x00", "\x00nora ", "nora\x00\x00", "n\x00ora"]
    codes = [client.post("/api/session", json={"name": n, "password": "wrong password"}).status_code for n in spellings]
    assert codes == [401] * 5 + [429] * 3
    team.bench.by_address.cleared("127.0.0.1")


def test_tries_at_the_same_moment_are_counted_before_the_password_is_looked_at(team):
    team.account("olaf", "viewer")
    # Not more than one address may have under way: beyond that the gate answers 503 before the brake is asked.
    clients = [team.client() for _ in range(team.bench.settings.max_stranger_requests)]
    wrong = {"name": "olaf", "password": "wrong password"}
    with ThreadPoolExecutor(len(clients)) as pool:
        codes = list(pool.map(lambda one: one.post("/api/session", json=wrong).status_code, clients))
    assert sorted(codes) == [401] * 5 + [429] * (len(clients) - 5)
    team.bench.by_address.cleared("127.0.0.1")


def test_an_account_has_a_limit_from_all_addresses_that_its_owner_does_not_meet(team, monkeypatch):
    team.account("ursula", "viewer")
    team.signed_in("ursula")
    monkeypatch.setattr(team.bench, "by_account", RateLimiter(3, 900))
    addresses = iter(f"10.0.0.{i}" for i in range(20))
    monkeypatch.setattr("isthmus.workbench.routes.accounts.address_of", lambda request: next(addresses))
    client = team.client()
    wrong = {"name": "ursula", "password": "wrong password"}
    assert [client.post("/api/session", json=wrong).status_code for _ in range(5)] == [401] * 3 + [429] * 2
    monkeypatch.setattr("isthmus.workbench.routes.accounts.address_of", lambda request: "127.0.0.1")
    team.signed_in("ursula")


def test_an_unknown_name_is_answered_like_a_wrong_password(team):
    client = team.client()
    answers = {
        client.post("/api/session", json={"name": n, "password": "wrong password"}).text.count("is wrong")
        for n in ("anna", "nobody")
    }
    assert answers == {1}
    team.bench.by_address.cleared("127.0.0.1")


def test_an_invitation_works_once(team, anna):
    made = anna.post("/api/people/invitations", json={"role": "reviewer"}).json()
    assert made["link"] == f"{team.address}/join/{made['token']}"
    newcomer, join = team.client(), f"/api/join/{made['token']}"
    assert newcomer.get(made["link"]).status_code == 200
    assert newcomer.post(join, json={"name": "nina", "password": "short"}).status_code == 422
    assert newcomer.post(join, json={"name": "nina", "password": PASSWORD}).json()["role"] == "reviewer"
    assert newcomer.get("/projects").status_code == 200
    again = team.client().post(join, json={"name": "nick", "password": PASSWORD})
    assert again.status_code == 404
    assert team.workspace.people.by_name("nick") is None
    team.bench.by_address.cleared("127.0.0.1")


@pytest.mark.parametrize(
    "address", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:x", "/a\nb"]
)
def test_signing_in_never_leads_elsewhere(team, address):
    page = team.client().get("/sign-in", params={"next": address}).text
    assert 'data-next="/projects"' in page
    assert team.signed_in("anna").get("/sign-in", params={"next": address}).headers["location"] == "/projects"


# ---- files


def send(client, project, name, content, kind="source"):
    return client.post(f"/api/projects/{project}/collections", data={"kind": kind}, files={"file": (name, content)})


def test_a_file_name_is_never_a_path(anna, hers, workspace):
    before = set(workspace.folder.rglob("*"))
    for name in ("../../../evil.csv", "..\\..\\evil.csv", "/etc/evil.csv", "evil.csv\x00.png", "..csv", "C:\\evil.csv"):
        answer = send(anna, hers, name, b"text,label\na b,x\nc d,y\n")
        assert answer.status_code in (200, 400, 422), name
    new = set(workspace.folder.rglob("*")) - before
    assert all(workspace.folder in path.parents and "evil" not in path.name for path in new)
    assert all("/" not in row.name and "\\" not in row.name for row in workspace.collections.list(hers))


def test_no_export_reads_a_path(anna, hers, run):
    for kind, form in (("../../secret.key", "csv"), ("labels", "../../secret.key"), ("model", "key"), ("x", "csv")):
        answer = anna.post(f"/api/projects/{hers}/exports", json={"run": run.id, "kind": kind, "format": form})
        assert answer.status_code == 422
    for address in (
        "/static/../secret.key",
        "/static/..%2f..%2fsettings.py",
        "/static/%2e%2e/app.py",
        "/static//etc/passwd",
    ):
        assert anna.get(address).status_code in (404, 303), address
    given = anna.post(f"/api/projects/{hers}/exports", json={"run": run.id, "kind": "labels", "format": "csv"})
    assert given.status_code == 200
    assert given.headers["content-disposition"].startswith("attachment; ")
    assert given.headers["content-type"] == "application/octet-stream"


def test_an_oversized_file_is_refused(team, anna, hers):
    large = b"text\n" + b"word " * 60_000
    assert send(anna, hers, "large.csv", large).status_code == 413
    # A sender who does not say how much is coming is stopped on the way.
    opening = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
    chunks = (opening if i == 0 else b"x" * 50_000 for i in range(20))
    head = {"content-type": "multipart/form-data; boundary=b"}
    assert anna.post(f"/api/projects/{hers}/collections", content=chunks, headers=head).status_code == 413
    assert anna.post("/api/projects", content=b"x" * 3_000_000).status_code == 413
    chunks = (b"x" * 500_000 for _ in range(20))
    assert anna.post("/api/projects", content=chunks).status_code == 413


def test_a_bomb_does_not_go_off(anna, hers):
    packed = gzip.compress(b"text,label\n" + b"0" * 60_000_000)
    assert len(packed) < 100_000
    refused = send(anna, hers, "bomb.csv.gz", packed)
    assert refused.status_code in (413, 422)
    book = io.BytesIO()
    with zipfile.ZipFile(book, "w", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr("[Content_Types].xml", "<Types/>")
        parts.writestr("xl/workbook.xml", "<workbook/>")
        parts.writestr("xl/worksheets/sheet1.xml", b"0" * 60_000_000)
    assert send(anna, hers, "bomb.xlsx", book.getvalue()).status_code in (413, 422)


# ---- cross-site scripting


def test_hostile_text_is_text_in_every_field(anna, team, workspace):
    """Everything a person or a file can say, shown on every page: nothing of it becomes an element."""
    evil = '"' + EVIL.replace('"', '""') + '"'
    source = f"id,{evil},label\n" + "".join(
        f"{evil},staff {evil[1:-1]} {i},{evil}\n,price {i},other\n".replace(
            f"staff {evil[1:-1]} {i}", f'"staff {evil[1:-1]} {i}"'
        )
        for i in range(12)
    )
    target = f"id,{evil}\n" + "".join(f'{evil},"staff {evil[1:-1]}"\nb,price {i}\n' for i in range(12))
    project = anna.post("/api/projects", json={"name": EVIL[:150]}).json()["id"]
    columns = {"text": [EVIL], "id_column": "id"}
    for name, content, kind, label in ((f"{EVIL}.csv", source, "source", "label"), ("t.csv", target, "target", None)):
        sent = anna.post(
            f"/api/projects/{project}/collections", data={"kind": kind}, files={"file": (name, content.encode())}
        )
        assert sent.status_code == 200, sent.text
        id = sent.json()["id"]
        mapped = anna.post(f"/api/projects/{project}/collections/{id}/mapping", json={**columns, "label": label})
        assert mapped.status_code == 200, mapped.text
    started = anna.post(f"/api/projects/{project}/runs", json={"method": "nbc", "name": EVIL[:150]})
    anna.post(f"/api/projects/{project}/diagnoses", json={})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IsthmusWarning)
        work(workspace, until_idle=True)
    run = started.json()["id"]
    assert workspace.runs.get(run).state == "done", workspace.runs.get(run).error
    document = anna.post(f"/api/projects/{project}/runs/{run}/queue", json={"n": 1}).json()[0]["document"]
    given = anna.post(f"/api/projects/{project}/runs/{run}/answers", json={"document": document, "label": EVIL[:150]})
    assert given.status_code == 200, given.text
    assert anna.post(f"/api/projects/{project}/words", json={"word": "<b>staff", "label": EVIL[:150]}).status_code in (
        200,
        422,
    )
    sample = anna.post(f"/api/projects/{project}/runs/{run}/checks", json={"size": 5}).json()["id"]
    first = workspace.collections.list(project)[0].id
    for part in (
        "", "/data", f"/data/{first}", "/diagnosis", "/runs", f"/runs/{run}", "/documents", f"/documents?q={EVIL}",
        f"/review?document={document}", "/review", f"/words?q={EVIL}&word={EVIL}", "/words?word=staff", "/groups",
        f"/check?check={sample}", "/compare", "/export", "/history",
    ):  # fmt: skip
        page = anna.get(f"/projects/{project}{part}")
        assert page.status_code in (200, 422), part
        assert "<script>document" not in page.text, part
        assert "<img" not in page.text, part
        assert "script-src 'self'" in page.headers["content-security-policy"]
    assert "&lt;script&gt;document" in anna.get(f"/projects/{project}/runs/{run}").text


def test_a_report_is_a_download_and_never_a_page(anna, hers, run):
    given = anna.post(f"/api/projects/{hers}/exports", json={"run": run.id, "kind": "report", "format": "html"})
    assert given.headers["content-type"] == "application/octet-stream"
    assert "attachment" in given.headers["content-disposition"]
    assert given.headers["x-content-type-options"] == "nosniff"


def test_nothing_of_an_account_leaks(anna):
    text = anna.get("/api/people").text
    assert "argon2" not in text
    assert "session_key" not in text
    assert "password" not in text


def test_sign_ins_and_exports_are_in_the_log(team, anna, hers, run, workspace):
    anna.post(f"/api/projects/{hers}/exports", json={"run": run.id, "kind": "audit", "format": "jsonl"})
    kinds = {event.kind for event in workspace.audit.events(latest=True, limit=400)}
    assert "sign-in" in kinds
    assert any("export" in kind for kind in kinds)


def test_a_program_signs_in_with_a_new_session(team):
    team.account("petra")
    client = team.client()
    old, answer = client.cookies, client.post("/api/session", json={"name": "petra", "password": PASSWORD})
    assert (answer.status_code, answer.json()["name"]) == (200, "petra")
    assert answer.json()["csrf"] != client.headers["x-csrf-token"]
    assert client.get("/api/session").json()["name"] == "petra"
    assert client.post("/api/projects", json={"name": "x"}).status_code == 403, "the token of before is worth nothing"
    client.headers["x-csrf-token"] = answer.json()["csrf"]
    assert client.post("/api/projects", json={"name": "x"}).status_code == 200
    assert len(old) == 1, "one cookie takes the place of the other"


def test_one_field_of_an_account_is_changed_and_the_others_stay(team, anna):
    tina = team.account("tina", "viewer").id
    people = team.workspace.people
    hers = team.signed_in("tina")

    def change(**fields):
        answer = anna.patch(f"/api/people/{tina}", json=fields)
        assert answer.status_code == 200, answer.text
        return answer.json()["role"], people.get(tina).disabled

    assert change(role="reviewer") == ("reviewer", False)
    assert change(disabled=True) == ("reviewer", True)
    assert hers.get("/api/session").json()["name"] is None, "a closed account is out"
    assert change(role="viewer") == ("viewer", True), "another role opens no account"
    assert change(disabled=False, role="reviewer") == ("reviewer", False)
    me = people.by_name("anna").id
    assert anna.patch(f"/api/people/{me}", json={"disabled": True}).status_code == 422, "she would lock herself out"
    assert anna.patch(f"/api/people/{me}", json={"role": "viewer"}).status_code == 422


def test_no_link_for_a_password_that_would_open_nothing(team, anna):
    closed, local = team.account("carl").id, team.workspace.people.local().id
    anna.delete(f"/api/people/{closed}").raise_for_status()
    for person in (closed, local):
        refused = anna.post(f"/api/people/{person}/password-link")
        assert (refused.status_code, "cannot sign in" in refused.text) == (422, True)


def test_who_guessed_too_often_is_refused_links_too(team, monkeypatch):
    monkeypatch.setattr(team.bench, "by_address", RateLimiter(1, 900))
    join = {"name": "x", "password": PASSWORD}
    assert team.client().post("/api/join/wrong", json=join).status_code == 404
    slowed = [
        team.client().post("/api/join/wrong", json=join),
        team.client().post("/api/password/wrong", json={"password": PASSWORD}),
    ]
    assert [one.status_code for one in slowed] == [429] * 2
    assert all("15 minutes" in one.text for one in slowed)


def test_who_signs_in_rightly_does_not_use_up_the_tries_of_an_address(team, monkeypatch):
    """More often than an address may fail, as a team behind one address does in the morning."""
    monkeypatch.setattr(team.bench, "by_address", RateLimiter(2, 900))
    right = {"name": "boris", "password": PASSWORD}
    assert [team.client().post("/api/session", json=right).status_code for _ in range(4)] == [200] * 4
