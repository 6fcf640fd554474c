"""What a push, a pull and a session with ``--eval-output=URL`` refuse: names, files, keys, halves of runs."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from pytest_browsereval.features.remote.bucket import Bucket, RemoteError
from tests.features.remote.test_push_and_pull import objects, pushed, written
from tests.hooks.small_evals import Evals

NAMES = ("", ".", "../x", "a/b", "%2e%2e", "a:b", "x\ny", "CON", "x" * 101, "latest", "latest-on-x")


def test_a_name_is_one_plain_folder(evals: Evals, bucket: str) -> None:
    """It is refused before anything is spent, and nothing is written out of the folder of the eval."""
    folder = str(written(evals))
    for name in NAMES:
        run = evals.run("shop.eval.yaml", f"--eval-output={bucket}", f"--eval-run-name={name}")
        assert (name, run.ret, run.folders) == (name, pytest.ExitCode.USAGE_ERROR, ())
        assert "cannot be the name of a run at a URL" in run.stderr.str()
        result = evals.run_command("push", folder, bucket, f"--name={name}")
        assert "cannot be the name of a run at a URL" in result.stderr.str(), name
        assert objects(evals, "*") == []


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
def test_a_file_that_nobody_could_read_there_is_not_sent(evals: Evals, bucket: str) -> None:
    """An agent's program can make one; a run with it would count there and never be read."""
    run = written(evals)
    attempt = next(run.glob("tasks/*/*/*/attempt-1"))
    for name in (b"a:b.bin", b"a\\b.txt", b"a\nb.bin", b"\x01.txt", b"\xff.bin", b".locks"):
        odd = Path(os.fsdecode(os.fsencode(attempt) + b"/" + name))
        odd.write_text("x")
        result = evals.run_command("push", str(run), bucket)
        odd.unlink()
        assert "names a file that does not belong to a run" in result.stderr.str(), name
        assert "Traceback" not in result.stderr.str()
        assert objects(evals, "*") == []


def test_a_run_that_lacks_results_does_not_count(evals: Evals, bucket: str) -> None:
    """It is sent, and counts once it was resumed: what is done would never change."""
    run = written(evals, "-x", "--eval-set", "gate={}")
    result = evals.run_command("push", str(run), bucket)
    assert result.ret not in (0, 1)
    assert (
        "not complete: 2 of the run's 4 trials have no result: r1, r2. Resume it, then push it again."
        in result.stderr.str()
    )
    assert objects(evals, "done") == []
    assert len(objects(evals, "tasks/**/metadata.json")) == 2
    assert evals.run("shop.eval.yaml", "--eval-resume=latest", "--eval-set", "gate={}").ret == 1
    pushed(evals, run, bucket)


def test_a_server_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence says what to check; nothing of the library's is in it."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.setenv(name, "tests")
    monkeypatch.setattr("pytest_browsereval.features.remote.bucket.RETRIES", {"max_retries": 0})
    for address in (f"http://127.0.0.1:{port}", "http://none.invalid:9"):
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
        with pytest.raises(RemoteError) as error:
            Bucket.open("s3://bucket/evals").get("x")
        assert str(error.value) == (
            "s3://bucket/evals: its server cannot be reached. Check the URL, `AWS_ENDPOINT_URL` and the "
            "like, and the network."
        )


def test_a_copy_that_lost_files_is_brought_again(evals: Evals, bucket: str, cache: Path) -> None:
    """Systems remove files from caches that nobody has read for long."""
    url = pushed(evals, written(evals), bucket)
    first = evals.run_command("gate", url, "--config", "shop.eval.yaml")
    (lines,) = cache.rglob("attempts/*.jsonl")
    lines.unlink()
    again = evals.run_command("gate", url, "--config", "shop.eval.yaml")
    assert again.outlines == first.outlines
    assert (again.ret, again.errlines) == (first.ret, first.errlines)


def test_a_key_in_a_request_is_not_printed(
    evals: Evals, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Azure's signature is in the URL of each request, and an endpoint may have a login."""
    from obstore.exceptions import GenericError
    from obstore.store import LocalStore

    def put(*args: object, **options: object) -> None:
        raise GenericError("Error performing PUT https://me:hunter22@host/c?sv=1&sig=hunter22 in 5.4s: gone")

    monkeypatch.setattr(LocalStore, "put", put)
    result = evals.run_command("push", str(written(evals)), bucket)
    assert "hunter22" not in result.stderr.str()
    assert "Error performing PUT https://...@host/c?... in 5.4s: gone" in result.stderr.str()


@pytest.mark.skipif(os.name == "nt", reason="Windows says it in words of its own")
def test_a_file_is_not_a_folder_of_runs(evals: Evals) -> None:
    """It is said before anything is spent, and the file stays what it is."""
    place = evals.path / "results.tar"
    place.write_text("mine")
    written(evals)
    folders = set((evals.path / "results").rglob("manifest.json"))
    for below in ("", "/evals"):
        run = evals.run("shop.eval.yaml", f"--eval-output={place.as_uri()}{below}")
        assert run.ret == pytest.ExitCode.USAGE_ERROR
        assert "there is a file where a folder has to be. Check the URL." in run.stderr.str()
    assert set((evals.path / "results").rglob("manifest.json")) == folders
    assert place.read_text() == "mine"


def test_a_name_in_the_bucket_says_nothing_to_the_terminal(evals: Evals, bucket: str) -> None:
    """Whoever may write there may name an object so that it rewrites the screen and ends a list."""
    (Path(bucket.removeprefix("file://")) / "shop\x1b[2J" / "run").mkdir(parents=True)
    result = evals.run_command("runs", bucket)
    assert result.ret == 4
    assert "\x1b" not in result.stderr.str()
