"""Runs in a bucket of S3: a real server over HTTP, and the answers that real buckets give now and then."""

from __future__ import annotations

import http.client
import itertools
import secrets
import shutil
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from pytest_browsereval.features.remote.bucket import RETRIES, Bucket, RemoteError
from pytest_browsereval.features.remote.claims import Done, Part, list_paths
from pytest_browsereval.run.shards import Shard
from tests.features.remote.servers import Faults, faulty
from tests.features.remote.test_push_and_pull import pushed, written
from tests.hooks.small_evals import Evals, row

pytestmark = pytest.mark.cluster

SECRET = "hunter22-hunter22"


_names = itertools.count(1)


@pytest.fixture
def faults(server: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Faults]:
    """Speak to it through the proxy."""
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT", "AWS_ALLOW_HTTP"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"ACCESS_KEY_ID": "tests", "SECRET_ACCESS_KEY": SECRET, "REGION": "us-east-1"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.setitem(RETRIES, "backoff", {"init_backoff": timedelta(milliseconds=10)})
    with faulty(server) as (url, faults):
        monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        yield faults


@pytest.fixture
def bucket(server: int, faults: Faults) -> str:
    """Return the URL of a folder in a new bucket."""
    name = f"evals-{next(_names)}"
    connection = http.client.HTTPConnection("127.0.0.1", server)
    connection.request("PUT", f"/{name}")
    assert connection.getresponse().status == 200
    connection.close()
    return f"s3://{name}/nightly"


def test_a_run_goes_there_and_back(evals: Evals, bucket: str, faults: Faults) -> None:
    """Commands read it by its URL; evidence is brought only by those that show it."""
    run = written(evals)
    url = pushed(evals, run, bucket)
    gated = evals.run_command("gate", url, "--config", "shop.eval.yaml")
    assert gated.ret == 1
    gated.stdout.fnmatch_lines(["pass rate 75.0% (3 of 4 judged)*"])
    assert evals.run_command("pull", url, "-o", "copy").ret == 0
    assert (evals.path / "copy" / "summary.json").read_bytes() == (run / "summary.json").read_bytes()
    before = len(faults.seen)
    assert evals.run_command("runs", url).ret == 0
    assert [line for line in faults.seen[before:] if "/tasks/" in line] == []


@pytest.mark.parametrize(
    "fault",
    [
        ("503 SlowDown", 5, r"PUT .*/try-"),
        ("lost", 3, r"PUT .*/try-"),
        ("lost", 1, r"PUT .*/done"),
        ("reset", 3, r"GET "),
        ("409 ConditionalRequestConflict", 3, r"PUT .*/\.probe-"),
        ("409 ConditionalRequestConflict", 3, r"PUT .*/done"),
        ("stall", 1, r"PUT .*/try-"),
    ],
)
def test_what_real_buckets_do_now_and_then_loses_nothing(
    evals: Evals, bucket: str, faults: Faults, fault: tuple[str, int, str]
) -> None:
    """Asked again, a bucket has all objects once; a lost answer to a claim makes nobody lose it."""
    run = written(evals)
    faults.plan(*fault)
    url = pushed(evals, run, bucket)
    copied = evals.run_command("pull", url, "-o", "copy")
    assert copied.ret == 0
    assert faults.is_over
    assert list(list_paths(evals.path / "copy")) == list(list_paths(run))


def test_one_of_sixteen_writers_wins(bucket: str) -> None:
    """Ten times; also when all of them claim, nobody's claim is lost."""
    part = Part(Bucket.open(bucket), Shard(1, 1))
    part.bucket.check_conditions()
    with ThreadPoolExecutor(16) as pool:
        for race in range(10):
            won = list(pool.map(lambda n, to=race: part.bucket.put_new(f"race-{to}", b"%d" % n), range(16)))
            assert won.count(True) == 1
        tokens = [secrets.token_hex(16) for _ in range(16)]
        assert sorted(pool.map(part.claim, tokens)) == list(range(1, 17))
        done = {one.token for one in pool.map(lambda token: part.finish(Done(token=token, files={})), tokens)}
    assert len(done) == 1


@pytest.mark.parametrize("fault", [("lost", 1), ("409 ConditionalRequestConflict", 3)])
def test_a_claim_whose_answer_got_lost_is_made_once(
    bucket: str, faults: Faults, fault: tuple[str, int]
) -> None:
    """Its owner is not the one that took the part over from itself."""
    faults.plan(*fault, r"PUT .*/claim-")
    part = Part(Bucket.open(bucket), Shard(1, 1))
    assert part.claim(secrets.token_hex(16)) == 1
    assert faults.is_over
    assert not part.is_taken_over(1)


def test_a_store_that_ignores_conditions_is_refused(
    evals: Evals, bucket: str, faults: Faults, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here a proxy takes them out; nothing of the run is written."""
    from tests.features.remote.servers import _Proxy

    forward = _Proxy._forward

    def without(self: _Proxy) -> None:
        del self.headers["If-None-Match"]
        forward(self)

    monkeypatch.setattr(_Proxy, "do_PUT", without)
    result = evals.run_command("push", str(written(evals)), bucket)
    assert result.ret != 0
    assert "this store ignores `If-None-Match`" in result.stderr.str()
    assert [line for line in faults.seen if line.startswith("PUT") and ".probe-" not in line] == []


def test_no_such_bucket(evals: Evals, faults: Faults) -> None:
    """One sentence; nothing was left out in silence."""
    result = evals.run_command("push", str(written(evals)), "s3://gone/evals")
    assert result.ret != 0
    assert "s3://gone/evals/shop/" in result.stderr.str()
    assert "there is no such bucket" in result.stderr.str()
    assert len(result.stderr.str().strip().splitlines()) == 1


def test_a_key_that_is_refused(bucket: str, faults: Faults) -> None:
    """The message has the URL and what to check, and nothing of the key."""
    for fault in ("403 AccessDenied", "401 Unauthorized", "403 RequestTimeTooSkewed"):
        faults.plan(fault, 1, r"GET |PUT ")
        with pytest.raises(RemoteError, match="the key is not accepted, or lacks a permission") as error:
            Bucket.open(bucket).list_all("parts")
        assert SECRET not in str(error.value)
        assert "<" not in str(error.value)


def test_the_key_is_written_nowhere(evals: Evals, bucket: str, tmp_path: Path) -> None:
    """Neither into the run folder, nor into the bucket, nor into what is printed."""
    run = written(evals)
    result = evals.run_command("push", str(run), bucket)
    found = [path for path in run.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    assert found == []
    assert SECRET not in result.stdout.str() + result.stderr.str()


KILLED = """
import os, signal, time
from pathlib import Path
from pytest_browsereval.features.remote import hooks
from pytest_browsereval.features.remote.bucket import Bucket
from pytest_browsereval.features.remote.claims import Part
from pytest_browsereval.run.shards import Shard

hooks.INTERVAL_S = 0.5  # from one sending to the next; minutes, else

def is_there(name):
    part = Part(Bucket.open({url!r}), Shard(1, 1))
    lines = [path for path in part.bucket.list_all(part.path) if "/attempts/" in path]
    return any(f'"{{name}}"'.encode() in part.bucket.get(f"{{part.path}}/{{path}}") for path in lines)

def solve(context):
    name = context.task.query_id
    with Path("calls.txt").open("a") as file:
        file.write(f"{{name}}\\n")
    deadline = time.monotonic() + 60
    while name == "c" and Path("deadly").exists():
        assert time.monotonic() < deadline, "the second row did not come"
        if is_there("b"):
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.05)
    return "right"
"""


def test_a_killed_run_goes_on_elsewhere(evals: Evals, bucket: str) -> None:
    """The machine is gone with its disk; what it had sent is not run again, and each trial has one result."""
    calls = evals.path / "calls.txt"
    (evals.path / "deadly").touch()
    (evals.path / "killed.py").write_text(KILLED.format(url=f"{bucket}/shop/nightly"))
    evals.write_rows(*(row(name) for name in "abcd"))
    evals.write_config(agent={"type": "function", "function": "killed:solve"}, lanes=1)
    args = ["shop.eval.yaml", f"--eval-output={bucket}", "--eval-run-name=nightly"]
    assert evals.run_process(*args).ret == -signal.SIGKILL
    assert calls.read_text().split() == ["a", "b", "c"]
    shutil.rmtree(evals.path / "results")
    (evals.path / "deadly").unlink()
    calls.unlink()
    run = evals.run(*args)
    assert run.ret == 0
    run.assert_outcomes(passed=4)
    assert calls.read_text().split() == ["c", "d"]
    assert evals.run_command("pull", f"{bucket}/shop/nightly", "-o", "copy").ret == 0
    assert len(list(evals.path.glob("copy/tasks/*/*/*/attempt-*/metadata.json"))) == 4
