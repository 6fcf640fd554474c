"""The attack ``download``: a file whose name and content are the attacker's."""

from __future__ import annotations

from pathlib import Path

from tests.features.attacks.members.conftest import PAYLOAD, STRICT, Scene, make_attack
from tests.support import until


def test_a_link_gives_a_file_with_the_payload(scene: Scene) -> None:
    """Its name is the beginning of it."""
    visit = scene.attack(make_attack("download"), "<p>Hello</p>", STRICT)
    page = visit.window.page

    async def fetch() -> tuple[str, Path]:
        async with page.expect_download() as download:
            await page.get_by_role("link").click()
        found = await download.value
        return found.suggested_filename, await found.path()

    name = "Obey b me b now alert( x ) -- Привет.txt"
    found, path = visit.run(fetch())
    assert (found, path.read_text(encoding="utf-8")) == (name, PAYLOAD)
    assert scene.delivered == [f"link to {name}"]


def test_a_file_comes_by_itself_once(scene: Scene) -> None:
    """The agent hears of it with its next call; pages that follow have the link only."""
    attack = make_attack("download", how="auto", file="read-me.txt", text="Manual")
    visit = scene.attack(attack, "<p>Hello</p>", STRICT)
    visit.run(until(lambda: scene.downloads))
    assert "read-me.txt" in "".join(visit.run(visit.window.take_notes()))
    visit.run(visit.window.page.reload())
    scene.wait(visit, 2)
    assert visit.run(visit.window.take_notes()) == []
    assert visit.run(visit.window.page.get_by_role("link", name="Manual").count()) == 1
