"""What the page shows: boards, trees, details, and what is wrong with a store."""

from __future__ import annotations

import html
import json
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from task_board.servers import open_stores
from task_board.web.app import BoardApp
from tests.board.board_client import PORT, Agent, BoardClient, events_of, open_board, packages, said
from tests.servers import ServerRecord, record_of


def ids_shown(text: str) -> list[str]:
    return re.findall(r'<li class="(?:card|node)"[^>]*data-id="([^"]*)"', text)


def test_several_stores_have_a_page_each_and_know_of_each_other(tmp_path: Path) -> None:
    with open_board(tmp_path, "tasks-v1", "hierarchy", "heartbeat") as board:
        for key in ("tasks-v1", "hierarchy", "heartbeat"):
            page = board.client.get(f"/b/{key}").text
            assert re.findall(r'href="([\w-]+)"', page) == ["tasks-v1", "hierarchy", "heartbeat"]
            assert page.count("aria-current") == 1


@pytest.mark.requirement("PE-12")
def test_the_page_can_be_opened_with_filters(columns: BoardClient, lister: Agent) -> None:
    lister.create("Buy milk", priority="high")
    mail = lister.create("Read mail")
    page = columns.get(q="MAIL").text
    assert ids_shown(page) == [mail]
    assert 'value="MAIL"' in page
    assert '<option selected value="high">' in columns.get(priority="high").text
    assert ids_shown(columns.shown(priority="high")) != [mail]


def test_the_open_tasks_can_be_shown_alone(columns: BoardClient, lister: Agent) -> None:
    milk, mail = lister.create("Buy milk"), lister.create("Read mail")
    lister.call("update_task_status", id=milk, status="canceled")
    assert ids_shown(columns.shown(status="open")) == [mail]
    assert ids_shown(columns.shown(status="canceled")) == [milk]
    assert ids_shown(columns.shown(status="odd")) == []


def test_more_tasks_come_when_they_are_asked_for(columns: BoardClient, lister: Agent) -> None:
    for number in range(60):
        lister.create(f"Task {number}")
    page = columns.shown()
    assert len(ids_shown(page)) == 50
    assert "Show 10 more" in page
    assert len(ids_shown(columns.shown(limit="pending=150"))) == 60
    assert len(ids_shown(columns.shown(limit="pending=²"))) == 50


def test_a_tree_is_opened_level_by_level(tree: BoardClient, planner: Agent) -> None:
    planner.create("A", tasks=[{"name": "B", "tasks": [{"name": "C", "tasks": [{"name": "D", "id": "d"}], "id": "c"}]}])
    assert "d" not in ids_shown(tree.shown())
    assert "d" in ids_shown(tree.shown(open="c"))
    assert "d" not in ids_shown(tree.shown(shut="c"))


@pytest.mark.parametrize("name", ["tasks-v1", "hierarchy"])
def test_a_board_says_how_many_tasks_match(tmp_path: Path, name: str) -> None:
    agent = Agent(record_of(name), tmp_path)
    for text in ("Milk 1.50", "Bread 1.50", "Read mail"):
        agent.create(text)
    agent.close()
    with open_board(tmp_path, name) as board:
        assert 'data-found="Tasks found: 3"' in board.shown()
        # Ids are searched too, and none has a full stop.
        assert 'data-found="Tasks found: 2"' in board.shown(q="1.5")
        page = board.shown(q="nothing")
    assert 'data-found="No task matches."' in page
    assert page.count("No task matches.") == 2  # also for those who see it
    assert "None" not in page


def test_the_details_offer_the_moves_that_a_place_in_the_tree_allows(tree: BoardClient, planner: Agent) -> None:
    first = planner.create("A", tasks=[{"name": "A1", "id": "a1"}, {"name": "A2", "id": "a2"}])
    second = planner.create("B")

    def offered(task_id: str) -> list[dict[str, str]]:
        page = tree.get("/task", id=task_id).text
        values = [json.loads(html.unescape(found)) for found in re.findall('hx-vals="([^"]*)"', page)]
        return [it for it in values if it["action"].startswith("place")]

    def move(task_id: str, number: int) -> list[str]:
        assert tree.act(**offered(task_id)[number]).status_code == 200
        return ["." * line.depth + line.text for line in tree.store.tasks().lines]

    assert [len(offered(task_id)) for task_id in (first, "a1", "a2", second)] == [1, 2, 3, 2]
    assert move(second, 0) == ["B", "A", ".A1", ".A2"]
    assert move(second, 0) == ["A", ".A1", ".A2", "B"]
    assert move("a1", 0) == ["A", ".A2", ".A1", "B"]
    assert move("a2", 1) == ["A", ".A1", "A2", "B"]
    assert move(second, 1) == ["A", ".A1", "A2", ".B"]


def test_a_task_goes_right_behind_a_sibling_even_where_not_all_are_shown(tree: BoardClient, planner: Agent) -> None:
    ids = [planner.create(f"Task {number}") for number in range(60)]
    assert tree.act("place_on_top", id=ids[48], parent="", after=ids[49], was_parent="").status_code == 200
    assert [line.id for line in tree.store.tasks().lines][47:51] == [ids[47], ids[49], ids[48], ids[50]]


def test_the_details_show_every_field_that_holds_something(tmp_path: Path) -> None:
    agent = Agent(record_of("heartbeat"), tmp_path)
    task_id = agent.create("Buy **milk**", ideas=["the *good* one"], extra_fields={"litres": 2, "shop": {"open": True}})
    with open_board(tmp_path, "heartbeat") as board:
        text = board.get("/task", id=task_id).text
    agent.close()
    for part in ("<strong>milk</strong>", "<em>good</em>", "&#34;litres&#34;: 2", "<dt>Ideas</dt>", "<dt>Created</dt>"):
        assert part in text
    assert "<dt>Result</dt>" not in text
    assert re.search(r'<time datetime="[^"]*Z">\d{4}-\d\d-\d\d \d\d:\d\d UTC</time>', text)


@pytest.mark.requirement("PE-11")
def test_the_details_name_the_subtasks(tree: BoardClient, planner: Agent) -> None:
    task_id = planner.create("Release", tasks=[{"name": "Build", "id": "b"}])
    assert (
        'hx-get="hierarchy/task?id=b" hx-target="#sheet-body">Build</button> <code>b</code>'
        in tree.get("/task", id=task_id).text
    )


@pytest.mark.requirement("PE-9")
def test_a_card_shows_what_people_scan_for(columns: BoardClient, lister: Agent) -> None:
    lister.create("Read mail")
    lister.create("Read", description="the mail", priority="high", tags=["home", "post"], topic_id="letters")
    page = columns.shown()
    for part in (
        "letters</span>",
        'tag">home</span>',
        'tag">post</span>',
        "high</span>",
        '<time class="age" datetime="',
    ):
        assert part in page
    assert page.count('<span class="note') == 4  # and none for the usual priority
    filters = columns.get().text
    assert '<option value="medium">medium</option>' in filters
    assert '<option value="letters">letters</option>' in filters
    assert len(ids_shown(columns.shown(q="the mail"))) == 1


@pytest.mark.requirement("PE-14")
def test_an_empty_board_shows_its_columns_and_what_to_say_to_an_agent(columns: BoardClient) -> None:
    page = columns.shown()
    assert page.count('<section class="column') == 4
    assert "Say to your agent" in page


@pytest.mark.requirement("PE-13")
def test_a_search_without_a_match_offers_to_clear_the_filters(columns: BoardClient, lister: Agent) -> None:
    lister.create("Buy milk")
    assert '<a href="tasks-v1">Clear the filters</a>' in columns.shown(q="nothing")


@pytest.mark.requirement("PE-13")
def test_each_tab_counts_the_open_tasks_of_its_store(tmp_path: Path) -> None:
    agent = Agent(record_of("tasks-v1"), tmp_path)
    agent.create("Buy milk")
    agent.call("update_task_status", id=agent.create("Read mail"), status="canceled")
    agent.close()
    (tmp_path / "hierarchy.json").write_text("{")
    with open_board(tmp_path, "tasks-v1", "hierarchy") as board:
        page, damaged = board.get().text, board.client.get("/b/hierarchy/tasks").text
        counts = [board.client.get(f"/b/{key}/count").text for key in ("tasks-v1", "hierarchy")]
    assert "data-open" not in damaged  # no number, as none is known
    assert counts == ["1", ""]
    assert re.findall(r'<span class="count" title="Open">(\d+)</span>', page) == ["1"]
    assert 'hx-get="hierarchy/count" hx-trigger="load"' in page  # so that a store without an answer delays no page
    assert 'data-open="1"' in page


@pytest.mark.requirement("PE-11")
def test_the_details_link_what_is_above_a_task_and_what_it_waits_for(tmp_path: Path) -> None:
    agent = Agent(record_of("taskmaster"), tmp_path)
    agent.create("Dig")
    agent.create("Build", dependencies="1")
    agent.call("add_subtask", id="2", title="Walls")
    with open_board(tmp_path, "taskmaster") as board:
        shown, build, walls = board.shown(), board.get("/task", id="2").text, board.get("/task", id="2.1").text
        agent.call("set_task_status", id="1", status="done")
        later = board.get("/task", id="2").text
    agent.close()
    assert '<span class="note waits">Waits for <span title="Dig">#1</span></span>' in shown
    assert '<span class="progress">0/1 done</span>' in shown
    assert "Waits for <button" in build
    assert "<dt>Depends on</dt>" in build
    assert build.count('hx-get="taskmaster/task?id=1"') == 2
    assert (
        '<nav class="path" aria-label="Tasks above"><button type="button" class="link" hx-get="taskmaster/task?id=2"'
        in walls
    )
    assert "Waits for" not in later
    assert later.count('hx-get="taskmaster/task?id=1"') == 1


@pytest.mark.requirement("PE-15", "AG-11")
def test_the_details_say_which_agent_has_claimed_a_task_or_the_one_above(tmp_path: Path) -> None:
    agent = Agent(record_of("hierarchy"), tmp_path, TASK_EXTRA_TOOLS="claims")
    agent.create("Dig", id="dig", tasks=[{"name": "Deep", "id": "deep"}])
    agent.call("claimTask", id="dig", note="the <pond>")
    with open_board(tmp_path, "hierarchy") as board:
        task, below = board.get("/task", id="dig").text, board.get("/task", id="deep").text
        agent.close()
        ended = board.get("/task", id="dig").text
    for shown in (task, below):
        assert '<p class="about">Claimed by mcp 0.1.0: the &lt;pond&gt;</p>' in shown
    assert "Claimed by mcp 0.1.0, whose process has ended: the &lt;pond&gt;" in ended


def test_what_changes_more_than_one_task_says_how_many_before_it_does(tree: BoardClient, planner: Agent) -> None:
    task_id = planner.create("A", tasks=[{"name": "A1", "id": "a1"}, {"name": "A2", "id": "a2"}])
    assert "Remove it, with everything below it (2 tasks)?" in tree.get("/form", action="remove", id=task_id).text
    assert "Remove it?" in tree.get("/form", action="remove", id="a1").text
    for leaf in ("a1", "a2"):
        planner.call("startTask", id=leaf)
        planner.call("completeTask", id=leaf, resolution="built")
    assert "with the finished tasks below it (2)" in tree.get("/form", action="reopen", id=task_id).text
    assert 'hx-get="hierarchy/form?action=reopen' in tree.get("/task", id=task_id).text
    assert 'hx-get="hierarchy/form?action=reopen' not in tree.get("/task", id="a1").text


def test_an_archived_task_is_still_shown(tmp_path: Path) -> None:
    record = record_of("heartbeat")
    archived = {"id": "old-owl", "status": "Complete", "raw_user_request": "Rest", "archived": True}
    times = dict.fromkeys(("created_at", "updated_at", "completed_at"), "2020-01-01T00:00:00Z")
    (tmp_path / "heartbeat_archive.jsonl").write_text(json.dumps({**archived, **times}) + "\n", "utf-8")
    with open_board(tmp_path, record.name) as board:
        assert '<h2 id="sheet-title" tabindex="-1">old-owl</h2>' in board.get("/task", id="old-owl").text


def test_a_store_that_is_damaged_or_moved_away_is_described_by_the_servers_own_error_until_it_is_back(
    record: ServerRecord, board: BoardClient, agent: Agent, tmp_path: Path
) -> None:
    task_id = agent.create("Buy milk")
    path = tmp_path / record.store()
    form = board.form("edit", id=task_id)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    page = board.get().text
    assert "The tasks cannot be read right now" in page
    assert path.name in page
    assert record.codes.get("StoreDamaged", "") in page
    before = path.read_bytes()
    assert board.submit(board.form("create") or {"action": "create", "form": "1"}).status_code == 422
    for path_of in ("/task", "/form"):
        assert path.name in board.get(path_of, id=task_id, action="edit").text
    response = board.submit(form, **{record.text: "Buy bread"})
    assert (response.status_code, response.headers["hx-reswap"]) == (422, "none")
    assert "is damaged" in said(response)
    started = next(step for step in board.store.actions.steps if step.name == "start")
    for response in (board.act("start", id=task_id), board.post("/act", id=task_id, status=started.status)):
        assert response.status_code == 422
        assert "is damaged" in said(response)
    assert path.read_bytes() == before
    path.write_bytes(whole)
    assert ids_shown(board.shown()) == [task_id]
    seen = board.store.fingerprint()
    path.rename(tmp_path / "elsewhere")
    assert board.store.fingerprint() != seen
    response = board.get("/tasks")
    if record.name == "heartbeat":
        assert events_of(response)["said"]["kind"] == "warning"
        assert said(response).startswith("The store was empty; its tasks were recovered from HEARTBEAT.md")
    else:
        assert path.name in response.text
        assert ids_shown(response.text) == []
    (tmp_path / "elsewhere").rename(path)
    assert ids_shown(board.shown()) == [task_id]


def test_a_store_that_cannot_be_read_is_an_error(columns: BoardClient, lister: Agent, tmp_path: Path) -> None:
    lister.create("Buy milk")
    (tmp_path / "tasks.json").unlink()
    (tmp_path / "tasks.json").mkdir()
    assert "StoreUnreadable" in columns.shown()


def test_what_the_server_warns_of_is_shown_when_the_page_is_opened(tmp_path: Path) -> None:
    agent = Agent(record_of("heartbeat"), tmp_path)
    agent.create("Buy milk")
    agent.close()
    folder = tmp_path / "copy"  # where the server of the agent, which may still be at work, finds nothing to recover
    folder.mkdir()
    shutil.copy(tmp_path / "HEARTBEAT.md", folder)
    with open_board(folder, "heartbeat") as board:
        page = board.get().text
    assert '<div class="saying warning" role="alert"><p lang="en">The store was empty; its tasks' in page
    assert re.search(r'</p><button type="button" data-close aria-label="Close">', page)


def test_the_details_do_not_repeat_what_their_heading_shows(columns: BoardClient, lister: Agent) -> None:
    text = columns.get("/task", id=lister.create("Buy milk")).text
    assert "<dt>Title</dt>" not in text
    text = columns.get("/task", id=lister.create("Buy milk", description="Buy milk")).text
    assert "<dt>Description</dt>" in text
    text = columns.get("/task", id=lister.create("Buy *milk*")).text
    assert "<em>milk</em>" in text


def test_a_path_that_is_too_long_is_an_error_of_the_server(tmp_path: Path) -> None:
    stores, _ = open_stores([f"tasks-v1={tmp_path / ('x' * 300)}.json"], packages())
    app = BoardApp(stores, PORT)
    with TestClient(app.build(), f"http://127.0.0.1:{PORT}{app.keys.secret_path}") as client:
        board = BoardClient(client, app, stores)
        board.enter()
        assert "File name too long" in board.shown()
    app.close()


def test_long_markdown_delays_nobody_else(tree: BoardClient, planner: Agent) -> None:
    task_id = planner.create("Release", description="![" * 7_000)
    answered = 0
    with ThreadPoolExecutor(1) as pool:
        details = pool.submit(tree.get, "/task", id=task_id)
        while not details.done():
            assert task_id in tree.shown()
            answered += 1
    assert details.result().status_code == 200
    assert answered > 2  # with the one before it began, and one that ended after it


def test_no_page_shows_a_character_that_nobody_could_see(tmp_path: Path) -> None:
    agent = Agent(record_of("hierarchy"), tmp_path)
    odd = "Buy\u202emilk\u200b"
    task_id = agent.create(odd, tasks=[{"name": odd, "id": "below", "tasks": [{"name": "x"}]}])
    with open_board(tmp_path, "hierarchy") as board:
        pages = [
            board.shown(),
            board.get("/task", id=task_id).text,
            board.get("/form", action="remove", id=task_id).text,
        ]
    agent.close()
    for page in pages:
        assert "Buy\\u{202e}milk\\u{200b}" in page
        assert "\u202e" not in page
