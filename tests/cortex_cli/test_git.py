"""Git as a process: its environment, its bounds, and the end of everything that it started (CX-65, CX-89)."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from cortex_cli.errors import CortexError, TimedOut
from cortex_cli.git import Git, git_environment
from cortex_cli.git.process import ChildProcess
from cortex_cli.models import Deadline
from tests.core.notes import DEADLINE, wait_until
from tests.cortex_cli.git_sandbox import git_environment_for_tests, raises_code

ASKING = {"GIT_TERMINAL_PROMPT", "GIT_ASKPASS", "SSH_ASKPASS_REQUIRE", "GCM_INTERACTIVE", "GIT_EDITOR"}


@pytest.mark.requirement("CX-65", "CX-64")
def test_git_asks_nothing_stays_in_its_directory_and_knows_no_token_of_ours() -> None:
    led_away = {"GIT_DIR": "/other/.git", "GIT_WORK_TREE": "/other", "GIT_INDEX_FILE": "/other/index"}
    made = git_environment({"HOME": "/h", "CTX_TOKEN": "secret", "GIT_SSH_COMMAND": "ssh -v", **led_away})
    assert made == {
        "HOME": "/h",
        "GIT_SSH_COMMAND": "ssh -v",
        "LC_ALL": "C",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",
        "SSH_ASKPASS_REQUIRE": "never",
        "GCM_INTERACTIVE": "never",
        "GIT_EDITOR": ":",
    }
    assert git_environment({"GIT_ASKPASS": "mine"})["GIT_ASKPASS"] == "mine"
    assert not git_environment({}, is_asking=True).keys() & ASKING


@pytest.fixture
def git(tmp_path: Path) -> Git:
    made = Git(tmp_path, git_environment_for_tests(tmp_path), Deadline(), grace=0.2)
    made.run("init", "--quiet", "--initial-branch=main")
    return made


def alias(git: Git, script: str) -> None:
    """Let ``git x`` run a shell script, as a hook or a helper would be run."""
    git.run("config", "alias.x", f"!{script}")


@pytest.mark.requirement("CX-65")
def test_a_call_ends_at_its_time_with_all_that_it_started(git: Git, tmp_path: Path) -> None:
    alias(git, f"sleep 1000 & echo $! > '{tmp_path}/pid'; sleep 1000")
    with pytest.raises(TimedOut):
        git.run("x", seconds=1)
    process = int((tmp_path / "pid").read_text())
    wait_until(lambda: has_ended(process))


@pytest.mark.requirement("CX-65")
def test_whoever_ignores_the_first_signal_is_killed(git: Git, tmp_path: Path) -> None:
    alias(git, f"trap '' TERM; echo $$ > '{tmp_path}/pid'; for _ in $(seq 100); do sleep 1; done")
    with pytest.raises(TimedOut):
        git.run("x", seconds=1)
    wait_until(lambda: has_ended(int((tmp_path / "pid").read_text())))


def has_ended(process: int) -> bool:
    """Return whether a process is gone, or only waits for its parent to notice."""
    try:
        state = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


@pytest.mark.requirement("CX-65")
def test_at_a_terminal_git_stays_in_the_group_of_the_terminal_and_ends_too(tmp_path: Path) -> None:
    environment = git_environment_for_tests(tmp_path)
    child = ChildProcess(["sleep", "1000"], tmp_path, environment, has_terminal=True, grace=0.2)
    with pytest.raises(TimedOut):
        child.communicate(b"", 0.2)
    git = Git(tmp_path, environment, Deadline(), is_asking=True)
    assert git.run("--version").line.startswith("git version")
    assert git.quiet().attempt("rev-parse", "HEAD").code == 128


@pytest.mark.requirement("CX-65")
def test_a_process_that_closes_its_output_has_its_time_too(tmp_path: Path) -> None:
    command = ["sh", "-c", "exec <&- >&- 2>&-; sleep 1000"]
    child = ChildProcess(command, tmp_path, {"PATH": os.environ["PATH"]}, grace=0)
    with pytest.raises(TimedOut):
        child.communicate(b"", 0.5)


@pytest.mark.requirement("CX-65")
def test_what_git_leaves_in_the_background_is_not_waited_for(git: Git, tmp_path: Path) -> None:
    alias(git, f"sleep 1000 & echo $! > '{tmp_path}/pid'; echo done")
    assert git.run("x", seconds=DEADLINE).line == "done"
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


@pytest.mark.requirement("CX-65")
def test_endless_output_is_ended_and_refused(git: Git) -> None:
    alias(git, "yes")
    with raises_code("GitFailed", match="'git x' failed"):
        git.run("x")


@pytest.mark.requirement("CX-95")
def test_what_failed_is_named_by_its_command_and_git_is_quoted_only_if_it_spoke(git: Git) -> None:
    alias(git, "exit 3")
    with raises_code("GitFailed", match=r"^'git x' failed with exit code 3\. Run it in a terminal") as caught:
        git.run("x")
    assert "git" not in caught.value.details
    with raises_code("GitFailed", match=r"^'git add' failed with exit code 128\. Look at details\.git"):
        git.run("--literal-pathspecs", "-c", "a.b=c", "add", "missing")


@pytest.mark.requirement("CX-65")
def test_only_the_end_of_what_git_complains_about_is_kept(git: Git) -> None:
    alias(git, "yes no | head -c 1000000 >&2; echo the end >&2")
    output = git.attempt("x")
    assert output.err.endswith("the end")
    assert len(output.err) <= 64 * 1024


@pytest.mark.requirement("CX-65")
def test_input_is_fed_to_git_even_if_it_does_not_read_it(git: Git) -> None:
    text = "ä\udcff\n" * 100_000
    assert git.run("hash-object", "--stdin", stdin=text).line
    alias(git, "exec <&-; sleep 0.1; echo done")
    assert git.run("x", stdin=text).line == "done"


@pytest.mark.requirement("CX-65")
def test_the_deadline_of_the_command_bounds_every_call(git: Git) -> None:
    times = iter([0.0, 0.0, 100.0])
    git.deadline = Deadline(50, lambda: next(times))
    git.run("--version")
    with pytest.raises(TimedOut):
        git.run("--version")
    git.deadline = Deadline(0)
    assert git.with_more_time().run("--version").code == 0


class Ended(BaseException):
    """What a signal raises, as in ``ctx``."""


@pytest.mark.requirement("CX-65", "CX-122")
def test_a_signal_ends_git_and_goes_on(git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def end(*_args: object) -> None:
        raise Ended

    alias(git, f"echo $$ > '{tmp_path}/pid'; kill -TERM {os.getpid()}; sleep 1000")
    old = signal.signal(signal.SIGTERM, end)
    try:
        with pytest.raises(Ended):
            git.run("x")
        wait_until(lambda: has_ended(int((tmp_path / "pid").read_text())))
        popen = ChildProcess.__init__.__globals__["subprocess"].Popen

        def signalled(*args: object, **options: object) -> object:
            os.kill(os.getpid(), signal.SIGTERM)
            return popen(*args, **options)

        # A signal that comes while a process starts waits until there is one that can be ended.
        monkeypatch.setattr("cortex_cli.git.process.subprocess.Popen", signalled)
        with pytest.raises(Ended):
            git.run("--version")
    finally:
        signal.signal(signal.SIGTERM, old)


@pytest.mark.requirement("CX-65")
def test_git_works_in_any_thread(git: Git) -> None:
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(git.run("--version").code))
    thread.start()
    thread.join(DEADLINE)
    assert found == [0]


@pytest.mark.requirement("CX-68", "CX-103")
def test_a_program_or_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with raises_code("GitMissing"):
        Git(tmp_path, {"PATH": str(tmp_path)}, Deadline()).run("--version")
    with raises_code("NotARepository"):
        Git(tmp_path / "x", {}, Deadline()).run("--version")
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "a\0b"):
        with pytest.raises(CortexError):
            Git(folder, {"PATH": os.environ["PATH"]}, Deadline()).run("--version")
    with raises_code("GitFailed"):
        Git(tmp_path, {"PATH": os.environ["PATH"]}, Deadline()).run("--version", "a\0b")


SAID: dict[str, str] = {
    "fatal: Authentication failed for 'https://h/'": "GitAuthFailed",
    "git@h: Permission denied (publickey).\nfatal: Could not read from remote repository.": "GitAuthFailed",
    "fatal: unable to access 'https://h/': Could not resolve host: h": "GitNetwork",
    "fatal: unable to access 'https://h/': The requested URL returned error: 403": "GitAuthFailed",
    "fatal: Unable to create '/x/.git/index.lock': File exists.": "GitLocked",
    "fatal: something else": "GitFailed",
}


@pytest.mark.parametrize(("said", "error"), SAID.items())
@pytest.mark.requirement("CX-68", "CX-95")
def test_what_git_writes_has_an_error_of_its_own(git: Git, said: str, error: str) -> None:
    alias(git, f'echo "{said}" >&2; exit 128 #')
    with raises_code(error) as caught:
        git.run("x", remote="origin")
    assert "fatal" not in caught.value.message
