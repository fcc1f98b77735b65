"""GitHub: pull requests over its REST API, version 2022-11-28."""

from cortex_cli.forge.base import Access, ForgeApi, Proposal, PullRequest

__all__ = ["GitHub", "read_pull"]


class GitHub:
    """GitHub, GitHub Enterprise Cloud and Server."""

    def __init__(self, access: Access) -> None:
        headers = {"Authorization": f"Bearer {access.token}", "X-GitHub-Api-Version": "2022-11-28"}
        self._api = ForgeApi(access, headers)
        self._owner = access.repository.partition("/")[0]
        self._path = f"/repos/{access.repository}/pulls"

    def find(self, branch: str, base: str) -> PullRequest | None:
        """Return the open pull request of a branch into its base, if there is one."""
        query = {"head": f"{self._owner}:{branch}", "base": base, "state": "open", "per_page": "1"}
        found = self._api.call("GET", self._path, query=query).value
        if not isinstance(found, list):
            raise self._api.failure("its answer is not a list")
        return read_pull(self._api, found[0]) if found else None

    def create(self, proposal: Proposal) -> PullRequest:
        """Create a pull request, and return it; if there is one already, return that one."""
        body = {
            "title": proposal.title,
            "head": proposal.branch,
            "base": proposal.base,
            "body": proposal.body,
            "draft": proposal.is_draft,
        }
        answer = self._api.call("POST", self._path, body=body, accepted=(422,))
        if answer.status == 422:
            found = self.find(proposal.branch, proposal.base)
            if found is None:
                raise self._api.refusal(answer)
            return found
        return read_pull(self._api, answer.value)

    def state(self, number: int) -> PullRequest:
        """Return a pull request as it is now."""
        return read_pull(self._api, self._api.call("GET", f"{self._path}/{number}").value)


def read_pull(api: ForgeApi, value: object) -> PullRequest:
    """Return a pull request of an answer of GitHub, Gitea or Forgejo; raise ``ForgeFailed`` if it is not one."""
    if not isinstance(value, dict):
        raise api.failure("a pull request is not an object")
    head = value.get("head")
    is_merged = value.get("merged") is True or isinstance(value.get("merged_at"), str)
    state = "merged" if is_merged else "open" if value.get("state") == "open" else "closed"
    head_sha = head.get("sha") if isinstance(head, dict) else None
    return api.make(value.get("number"), value.get("html_url"), state, head_sha)
