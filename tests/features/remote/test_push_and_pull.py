"""Runs at a URL: whole programs, with a folder as the bucket; ``test_s3.py`` has a server."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_browsereval.features.remote.claims import list_paths
from tests.hooks.small_evals import Evals, row


def written(evals: Evals, *args: str) -> Path:
    """Run an eval of a right and a wrong row, and return its run folder."""
    evals.write([row("good"), row("bad", says="wrong"), row("r1"), row("r2")], gate={"min_pass_rate": 0.9})
    return evals.run("shop.eval.yaml", *args).folder


def pushed(evals: Evals, run: Path, bucket: str, *args: str) -> str:
    """Push a run by the command, and return its URL."""
    result = evals.run_command("push", str(run), bucket, *args)
    assert result.ret == 0, result.stderr.str()
    return result.outlines[-1].split()[-1]


def objects(evals: Evals, pattern: str) -> list[Path]:
    """Return files of the bucket."""
    return sorted(path for path in bucket_of(evals).rglob(pattern) if path.is_file())


def bucket_of(evals: Evals) -> Path:
    """Return a folder that is not below that of the evals, where run folders are looked for."""
    return evals.path.with_name(f"{evals.path.name}-bucket")


def test_commands_read_a_run_by_its_url(evals: Evals, bucket: str) -> None:
    """They say what they say of the folder, and end with the same exit code."""
    run = written(evals)
    url = pushed(evals, run, bucket)
    assert url == f"{bucket}/shop/{run.name}"
    for command in (("gate", "--config", "shop.eval.yaml"), ("runs", "--json"), ("compare", str(run))):
        name, *rest = command
        here, there = (evals.run_command(name, given, *rest) for given in (str(run), url))
        assert (there.ret, there.stderr.str()) == (here.ret, here.stderr.str())
        texts = [one.stdout.str() for one in (here, there)]
        lines = [[line for line in text.splitlines() if run.name not in line] for text in texts]
        assert lines[0] == lines[1]
        assert here.ret == (1 if name == "gate" else 0)


def test_a_copy_has_the_same_files(evals: Evals, bucket: str) -> None:
    """Each file is an object, also one that is no UTF-8."""
    run = written(evals)
    attempt = next(run.glob("tasks/*/*/*/attempt-1"))
    (attempt / "odd.txt").write_bytes(b"\xff\xfe \xed\xa0\x80")
    url = pushed(evals, run, bucket)
    assert evals.run_command("pull", url, "-o", "copy").ret == 0
    copy = evals.path / "copy"
    assert {path.relative_to(copy): path.read_bytes() for path in copy.rglob("*") if path.is_file()} == {
        path.relative_to(run): path.read_bytes()
        for path in run.rglob("*")
        if path.is_file() and not path.relative_to(run).parts[0].startswith(".")
    }
    again = evals.run_command("pull", url, "-o", "copy")
    assert again.ret != 0
    assert "already exists" in again.stderr.str()


def test_what_is_there_is_not_sent_again(evals: Evals, bucket: str) -> None:
    """A push may be repeated, and a run that has changed since gets another name."""
    run = written(evals)
    pushed(evals, run, bucket)
    before = {path: path.stat().st_mtime_ns for path in objects(evals, "*")}
    result = evals.run_command("push", str(run), bucket)
    result.stdout.fnmatch_lines([f"{len(list(list_paths(run)))} objects: {bucket}/shop/*"])
    assert {path: path.stat().st_mtime_ns for path in objects(evals, "*")} == before
    (run / "labels.jsonl").write_text("{}\n")
    changed = evals.run_command("push", str(run), bucket)
    assert changed.ret != 0
    assert "already has a finished run with other files" in changed.stderr.str()
    assert pushed(evals, run, bucket, "--name", "labelled").endswith("/shop/labelled")


def test_shards_are_parts_of_one_run(evals: Evals, bucket: str) -> None:
    """Pushed under one name, they are merged by its URL; until all are there, it is not read."""
    for number in (1, 2):
        run = written(evals, f"--eval-shard={number}/2", "--eval-set", "gate={}")
        url = pushed(evals, run, bucket, "--name", "nightly")
        if number == 1:
            half = evals.run_command("gate", url, "--eval-set", "gate={}")
            assert half.ret not in (0, 1)
            assert "2-of-2 of this run is missing" in half.stderr.str()
            assert evals.run_command("runs", f"{url}/parts/1-of-2").ret == 0
    single = evals.run_command("gate", url)
    assert single.ret != 0
    assert f"is a run in 2 parts. Run `browsereval merge {url} -o FOLDER`" in single.stderr.str()
    assert evals.run_command("merge", url, "-o", "whole").ret == 0
    gated = evals.run_command("gate", "whole", "--config", "shop.eval.yaml")
    assert gated.ret == 1
    gated.stdout.fnmatch_lines(["pass rate 75.0% (3 of 4 judged)*", "NOT MET min_pass_rate*"])


SPOILED: list[tuple[str, Callable[[Path], object], str]] = [
    ("*.jpeg", lambda path: path.write_bytes(b"x"), "is missing or damaged"),
    ("tasks/**/metadata.json", lambda path: path.unlink(), "is missing or damaged"),
    ("done", lambda path: path.write_text('{"form": 3, "try": "../x", "files": {}}'), "done is damaged"),
    ("done", lambda path: path.write_text('{"form": 3, "try": "%s"}' % ("a" * 32)), "done is damaged"),
    ("done", lambda path: path.write_text(path.read_text().replace("3", "2", 1)), "or another version"),
    *(
        ("done", lambda path, to=to: path.write_text(path.read_text().replace("manifest.json", to)), message)
        for to in ("../out", "/out", "a/../../out", "a\\\\b", "c:out", ".locks/main", "")
        for message in ("names a file that does not belong to a run",)
    ),
]
"""An object, what is done to it, and what is said of it."""


def test_what_is_damaged_is_not_read(evals: Evals, cache: Path, subtests: pytest.Subtests) -> None:
    """Nothing leads out of the folder, and no part of it is left in the cache."""
    url = pushed(evals, written(evals), bucket_of(evals).as_uri())
    for pattern, spoil, message in SPOILED:
        with subtests.test(pattern=pattern, message=message):
            path = objects(evals, pattern)[0]
            whole = path.read_bytes()
            spoil(path)
            result = evals.run_command("view", url)
            path.write_bytes(whole)
            assert result.ret == 4
            assert message in result.stderr.str()
            assert [path for path in cache.rglob("*") if path.is_file()] == []


def test_links_are_not_followed(evals: Evals, bucket: str) -> None:
    """An agent's program can make one in the run folder."""
    run = written(evals)
    (run / "tasks" / "secret.json").symlink_to("/etc/passwd")
    refused = evals.run_command("push", str(run), bucket)
    assert "secret.json is not a plain file" in refused.stderr.str()
    assert objects(evals, "*") == []


SPOILED_LINES: tuple[Callable[[Path], object], ...] = (
    lambda path: path.write_bytes(path.read_bytes()[:-1]),
    lambda path: path.write_bytes(path.read_bytes().replace(b"failed", b"passed")),
    lambda path: path.write_bytes(path.read_bytes() + b"more"),
    Path.unlink,
)


def test_a_gate_is_not_green_without_an_object(evals: Evals, bucket: str) -> None:
    """What is done says what it consists of, with hashes; a line that is gone would be a failed row less."""
    rows = [row("good"), row("bad", says="wrong")]
    url = pushed(evals, evals.play(rows, gate={"min_pass_rate": 0.5}).folder, bucket)
    gate = ("gate", url, "--config", "shop.eval.yaml")
    for pattern in ("manifest.json", "attempts/*.jsonl", "selected.jsonl"):
        (path,) = objects(evals, pattern)
        whole = path.read_bytes()
        for spoil in SPOILED_LINES if "attempts" in pattern else (Path.unlink,):
            spoil(path)
            result = evals.run_command(*gate)
            path.write_bytes(whole)
            assert result.ret == 4
            assert re.search(r"\.jsonl? is (missing|damaged)", result.stderr.str())
    assert evals.run_command(*gate).ret == 0


def test_no_secret_is_in_any_object(evals: Evals, bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor where an agent answers with it, or writes it into its folder by itself."""
    monkeypatch.setenv("SHOP_TOKEN", "hunter22-hunter22")
    agent = (
        "def solve(context):\n"
        "    (context.task_output_dir / 'own.txt').write_text('fine')\n"
        "    return context.config.options['token']\n"
    )
    (evals.path / "telling.py").write_text(agent)
    options = {"token": "${SHOP_TOKEN}"}
    evals.write([row("a")], agent={"type": "function", "function": "telling:solve", "options": options})
    evals.run("shop.eval.yaml", f"--eval-output={bucket}", "--eval-set", "gate={}")
    found = objects(evals, "*")
    assert any(path.name == "own.txt" for path in found)
    assert [path for path in found if b"hunter22" in path.read_bytes()] == []


BAD_URLS = [
    ("s3://bucket/evals", "no key for s3://bucket/evals.*Set AWS_ACCESS_KEY_ID and AWS_SECRET"),
    ("gs://bucket/evals", "no key for gs://bucket.*Set GOOGLE_APPLICATION_CREDENTIALS"),
    ("az://account/bucket", "no key for az://account.*Set AZURE_STORAGE_ACCOUNT_KEY"),
    ("ftp://bucket/evals", "Write s3://bucket/folder"),
    ("s3://me:hunter22@bucket/evals", "Put the key into the environment"),
    ("s3://me:hunter22@[bucket", "is not the URL of a folder"),
    ("s3://bucket/evals?X-Amz-Signature=hunter22", "is not the URL of a folder"),
    ("https://account.blob.core.windows.net/evals?sig=hunter22", "is not the URL of a folder"),
    ("file://shared/evals", "file:///shared/folder"),
    ("file:///", "is not the URL of a folder"),
    ("file:///shared\x1b[2J/run", r"shared\\x1b\[2J/run.* is not the URL of a folder"),
]
"""URLs with what is said of them."""


def test_bad_urls_are_refused(
    evals: Evals, bucket: str, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    """Before anything is asked of anyone, whatever the command, and without the key in the message."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_EC2_METADATA_DISABLED"):
        monkeypatch.delenv(name, raising=False)
    folder = str(written(evals))
    for url, message in BAD_URLS:
        with subtests.test(url=url):
            for command in (("gate", url), ("push", url, bucket), ("push", folder, url)):
                result = evals.run_command(*command)
                said = result.stdout.str() + result.stderr.str()
                assert (result.ret, "hunter22" in said) == (4, False)
                assert re.search(message, said) or command[2:] == (bucket,)
            run = evals.run("shop.eval.yaml", f"--eval-output={url}")
            said = run.stdout.str() + run.stderr.str()
            assert (run.ret, "hunter22" in said) == (4, False)
            assert re.search(message, said)
