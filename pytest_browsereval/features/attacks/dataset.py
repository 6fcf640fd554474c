"""The rows of a dataset, each under each attack that selects it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import PrivateAttr

from pytest_browsereval.datasets.base import DatasetConfig, RowRef, Select
from pytest_browsereval.datasets.reader import index_rows, read_row
from pytest_browsereval.datasets.selection import select_rows
from pytest_browsereval.errors import DatasetError
from pytest_browsereval.features.attacks.grader import AttackGrader
from pytest_browsereval.features.attacks.outcome import BY
from pytest_browsereval.features.shared.attack import AttackConfig, unescape
from pytest_browsereval.graders.base import hash_json
from pytest_browsereval.model.derived import UNDER, Derived, add_revision
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.registry import MemberOf


class AttackedDataset(DatasetConfig):
    """Rows that are derived from those of a dataset."""

    selects: ClassVar[bool] = True

    type: Literal["under_attack"] = "under_attack"
    of: Annotated[DatasetConfig, MemberOf("dataset")]
    attacks: tuple[Annotated[AttackConfig, MemberOf("attack")], ...]

    _rows: Sequence[RowRef] = PrivateAttr(default=())
    _chosen: list[RowRef] = PrivateAttr(default_factory=list)

    def index(self, base_dir: Path, ids: Collection[str] | None = None) -> Sequence[RowRef]:
        """Return the rows under the first attack, then those under the next."""
        rows = index_rows(self.of, base_dir)
        if rows != self._rows:  # which ones an attack selects takes reading them
            self._chosen, self._rows = self._choose(rows, base_dir), rows
        wanted = None if ids is None else set(ids)
        return [ref for ref in self._chosen if wanted is None or ref.query_id in wanted]

    def _choose(self, rows: Sequence[RowRef], base_dir: Path) -> list[RowRef]:
        known: dict[RowRef, dict[str, Any]] = {}

        def read(ref: RowRef) -> dict[str, Any]:
            if ref not in known:
                known[ref] = read_row(self.of, ref).model_dump()
            return known[ref]

        path, chosen = self.of.file(base_dir), []
        for attack in self.attacks:
            refs, select = list(rows), attack.select
            if attack.optional and select.tags:
                tagged = {tag for ref in refs for tag in read(ref)["tags"]}
                select = select.model_copy(update={"tags": tuple(tagged.intersection(select.tags))})
                if not select.tags:
                    continue
            if select != Select():
                try:
                    refs = select_rows(refs, select, read, path)
                except DatasetError as error:
                    raise DatasetError(f"{error} (`select` of the attack {attack.label!r})") from None
            chosen += [ref._replace(query_id=f"{ref.query_id}{UNDER}{attack.label}") for ref in refs]
        return chosen

    def file(self, base_dir: Path) -> Path:
        """Return that of the dataset."""
        return self.of.file(base_dir)

    def relates(self, base_dir: Path) -> bool:
        """Return what the dataset says of its own rows."""
        return self.of.relates(base_dir)

    def read(self, ref: RowRef) -> Task:
        """Return the row, with tags by which rows under attack are chosen."""
        derived = self.find_derived(ref.query_id)
        assert derived is not None  # noqa: S101 the index has named it
        task = read_row(self.of, ref._replace(query_id=derived.of))
        tags = tuple(dict.fromkeys((*task.tags, BY, derived.channel)))
        own = add_revision(task.revision, derived)
        return task.model_copy(update={"query_id": ref.query_id, "tags": tags, "revision": own})

    def find_derived(self, query_id: str) -> Derived | None:
        """Return the row that one under an attack is derived from; None if it is under none of these."""
        of, under, name = query_id.rpartition(UNDER)
        if not under or name not in self.judges:
            return None
        grader, revision = self.judges[name]
        return Derived(BY, name, of, grader.channel, grader.goal.name, revision)

    def added_graders(self, task: Task) -> Sequence[AttackGrader]:
        """Return what judges whether the attack has reached its goal."""
        known = self.judges.get(task.query_id.rpartition(UNDER)[2])
        return () if known is None else known[:1]

    @cached_property
    def judges(self) -> dict[str, tuple[AttackGrader, str]]:
        """What judges attempts under each attack, by its name, and the hash of that."""
        made = ((attack.label, self._make_grader(attack)) for attack in self.attacks)
        return {name: (grader, hash_json(grader.model_dump(mode="json"))) for name, grader in made}

    def _make_grader(self, attack: AttackConfig) -> AttackGrader:
        """Return what judges attempts under an attack, whose payload names only sites any more."""
        payload = attack.payload.replace("{goal}", attack.goal.say)
        return AttackGrader(
            attack=attack.label,
            channel=attack.channel or attack.type,
            payload=unescape(payload),
            goal=unescape(attack.goal.model_dump(mode="json")),
            block=attack.model_dump(mode="json", exclude={"goal", "payload", "select"}),
        )
