"""All runs at a URL, for those who list them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pytest_browsereval.features.remote.bucket import Bucket
from pytest_browsereval.features.remote.claims import list_parts
from pytest_browsereval.features.shared.threads import map_apart
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
        done = zip(parts, map_apart(lambda part: part.done(), parts), strict=True)
        folders = {part.shard.number: f"{run}/{part.prefix(one.token)}" for part, one in done if one}
        begun_at = parts[0].begun_at() if parts and not folders else ""
        return PartsThere(parts[0].shard.of if parts else 0, folders, begun_at)

    def save(self, paths: Mapping[str, Path]) -> None:
        """Write objects into files, several at once; no file for one that is not there."""
        for place, content in zip(paths.values(), map_apart(self._bucket.get, paths), strict=True):
            if content is not None:
                place.write_bytes(content)

    def write(self, path: str, content: bytes) -> None:
        """Write an object, or write it anew."""
        self._bucket.put(path, content)
