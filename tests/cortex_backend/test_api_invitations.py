"""Invitations: nobody is a member without their consent, and nobody learns who has an account (CX-10, CX-26)."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from cortex_backend.database import CortexDatabase
from cortex_backend.security.passwords import Passwords
from cortex_backend.service.accounts import Accounts
from tests.cortex_backend.application import CHEAP
from tests.cortex_backend.backend_fixture import PASSWORD, BackendFixture, Person, as_problem

pytestmark = pytest.mark.requirement("CX-10")


def invitations(person: Person, query: str = "") -> list[dict[str, Any]]:
    answer = person.get(f"/invitations/{query}")
    assert answer.status_code == 200, answer.text
    assert answer.json()["total"] == len(answer.json()["invitations"])
    return answer.json()["invitations"]


def test_whoever_is_invited_is_a_member_once_they_accept(each_backend: BackendFixture) -> None:
    backend = each_backend
    owner, stranger, path = backend.owner, backend.stranger, f"/projects/{backend.project}"
    invitation = owner.invite(backend.project, f" {stranger.email.upper()} ", "viewer")
    assert invitation["project"] == {"id": backend.project, "name": "Alpha"}
    assert (invitation["email"], invitation["role"]) == (stranger.email, "viewer")
    assert invitation["invited_by"] == {"id": owner.id, "name": "Owner"}
    assert invitations(stranger) == [invitation]
    as_problem(stranger.get(path), 404, "NotFound")
    body = {"project_id": backend.project, "title": "Work for me", "assignee_id": stranger.id}
    as_problem(owner.post("/tasks/", body), 404, "NotFound")
    accepted = stranger.post(f"/invitations/{invitation['id']}/accept")
    assert accepted.status_code == 201
    assert accepted.json() == stranger.get(path).json() == {**owner.get(path).json(), "role": "viewer"}
    assert (accepted.headers["location"], accepted.headers["etag"]) == (path, '"1"')
    assert invitations(stranger) == []
    as_problem(stranger.post(f"/invitations/{invitation['id']}/accept"), 404, "NotFound")
    assert owner.post("/tasks/", body).status_code == 201
    assert owner.delete(f"{path}/members/{stranger.id}").status_code == 204
    as_problem(stranger.get(path), 404, "NotFound")


@pytest.mark.requirement("CX-26")
def test_an_invitation_says_nothing_about_who_has_an_account(backend: BackendFixture) -> None:
    with closing(CortexDatabase(backend.url)) as database:
        accounts = Accounts(database, Passwords(CHEAP), backend.clock)
        accounts.add("gone@example.com", "Gone", PASSWORD)
        accounts.disable("gone@example.com")
    for again in (False, True):
        shown: list[tuple[object, ...]] = []
        for email in (backend.stranger.email, backend.member.email, "gone@example.com", "nobody@example.com"):
            answer = backend.owner.post(f"/projects/{backend.project}/members", {"email": email, "role": "member"})
            body = answer.json()
            assert body.pop("email") == email
            assert (body.pop("id") <= backend.invitation + 4) is True
            shown.append((answer.status_code, body, answer.headers.keys()))
        assert shown == [shown[0]] * 4, again
    assert len(invitations(backend.owner, f"?project_id={backend.project}")) == 5


def test_an_invitation_waits_for_its_account(backend: BackendFixture) -> None:
    with closing(CortexDatabase(backend.url)) as database:
        Accounts(database, Passwords(CHEAP), backend.clock).add("Nobody@example.org", "New", PASSWORD)
    tokens = backend.anyone.post("/auth/login", {"email": "nobody@example.org", "password": PASSWORD}).json()
    somebody = Person(backend.client, backend.description, tokens)
    (invitation,) = invitations(somebody)
    assert invitation["id"] == backend.invitation
    assert somebody.post(f"/invitations/{backend.invitation}/accept").json()["role"] == "viewer"


def test_the_same_address_again_gets_the_other_role(backend: BackendFixture) -> None:
    first, second = (
        backend.owner.invite(backend.project, backend.stranger.email, role) for role in ("viewer", "owner")
    )
    assert second == {**first, "role": "owner"}
    assert invitations(backend.stranger) == [second]


@pytest.mark.requirement("CX-100")
def test_an_invitation_is_for_the_person_with_the_address(backend: BackendFixture) -> None:
    invitation = backend.owner.invite(backend.project, backend.stranger.email, "owner")
    for person in (backend.owner, backend.member, backend.viewer):
        as_problem(person.post(f"/invitations/{invitation['id']}/accept"), 404, "NotFound")
        assert invitations(person) == []
    for person in (backend.member, backend.viewer):
        as_problem(person.delete(f"/invitations/{invitation['id']}"), 404, "NotFound")
    assert invitations(backend.stranger) == [invitation]


def test_the_invited_person_declines_and_an_owner_withdraws(backend: BackendFixture) -> None:
    for person in (backend.stranger, backend.owner):
        invitation = backend.owner.invite(backend.project, backend.stranger.email, "member")
        assert person.delete(f"/invitations/{invitation['id']}").status_code == 204
        assert invitations(backend.stranger) == []
        as_problem(person.delete(f"/invitations/{invitation['id']}"), 404, "NotFound")
    shown = [(event["from"], event["to"]) for event in backend.events(kind="member_changed")][-4:]
    assert shown == [(None, "invited member"), ("invited member", None)] * 2
