"""All runs at a URL, for those who list them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.remote.bucket import Bucket
from pytest_browsereval.features.remote.claims import list_parts, read_json
from pytest_browsereval.features.remote.listing import FILES
from pytest_browsereval.features.remote.threads import map_apart
from pytest_browsereval.model.remote import PartsThere


class BucketRuns:
    """The runs in a bucket.

    Args:
        url: of the folder of all runs.

    Raises:
        UsageError: it is not such a URL, or there is no key for it.
    """

    def __init__(self, url: str) -> None:
        self._bucket = Bucket.open(url)
        self.url = self._bucket.url

    def list_runs(self) -> list[str]:
        """Return ``EVAL/NAME`` of all runs of which something is there."""
        evals = [name for name in self._bucket.list_folders("") if not name.startswith(".")]
        found = map_apart(lambda name: [f"{name}/{run}" for run in self._bucket.list_folders(name)], evals)
        return [run for runs in found for run in runs]

    def find_parts(self, run: str) -> PartsThere:
        """Return what is there of a run; its parts are asked for at once."""
        parts = list_parts(Bucket.open(f"{self.url}/{run}"))
        if not parts:
            return PartsThere(0, {})
        done = zip(parts, map_apart(lambda part: part.done(), parts), strict=True)
        folders = {
            part.shard.number: f"{run}/{part.prefix(one.token)}/{FILES}"
            for part, one in done
            if one is not None
        }
        begun_at = "" if folders else self._find_begin(run, parts[0].claims())
        return PartsThere(parts[0].shard.of, folders, begun_at)

    def _find_begin(self, run: str, claims: list[str]) -> str:
        content = self._bucket.get(f"{run}/{claims[0]}") if claims else None
        try:
            return "" if content is None else str(read_json(content, self.url).get("at", ""))
        except UsageError:
            return ""

    def list_below(self, folder: str) -> list[str]:
        """Return the paths of all objects below a folder, as seen from the URL."""
        return self._bucket.list_below(folder)

    def list_in(self, folder: str) -> list[str]:
        """Return the names of the objects in a folder, without those of its folders."""
        return self._bucket.list_files(folder)

    def read(self, paths: Iterable[str]) -> list[bytes | None]:
        """Return objects by their paths, several at once; None for one that is not there."""
        return map_apart(self._bucket.get, paths)

    def save(self, paths: Mapping[str, Path]) -> None:
        """Write objects into files, several at once; no file for one that is not there."""
        map_apart(self._save, paths.items())

    def _save(self, one: tuple[str, Path]) -> None:
        path, place = one
        with place.open("wb") as file:
            is_there = self._bucket.save(path, file) is not None
        if not is_there:
            place.unlink()

    def write(self, path: str, content: bytes) -> None:
        """Write an object, or write it anew."""
        self._bucket.put(path, content)

    def delete(self, paths: Iterable[str]) -> None:
        """Remove objects."""
        map_apart(self._bucket.delete, paths)
