"""Graders of a row: those that it names, those of its dataset, and advisory ones that features add."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pydantic import JsonValue, ValidationError

from pytest_browsereval.datasets.base import DatasetConfig
from pytest_browsereval.errors import DatasetError, RegistryError
from pytest_browsereval.graders.base import GraderConfig
from pytest_browsereval.graders.nested import unfold
from pytest_browsereval.graders.trust import check_trust
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.registry import Registry, read_block
from pytest_browsereval.validation_errors import wrong_booleans


def read_graders(
    blocks: Iterable[str | Mapping[str, JsonValue]], registry: Registry, where: str
) -> Iterator[GraderConfig]:
    """Yield the graders of a row.

    Args:
        blocks: as the row has them.
        registry: where they are looked up.
        where: file, line and row, for messages.

    Raises:
        DatasetError: one is unknown, or its options are wrong.
    """
    for given in blocks:
        block = {"type": given} if isinstance(given, str) else given
        name = block.get("type")
        if not isinstance(name, str):
            raise DatasetError(f"{where}: the grader {given!r} has no type. Write {{'type': NAME}}.")
        try:
            member = registry.get("grader", name)
            if problem := next(wrong_booleans(block, member, registry), None):
                raise DatasetError(f"{where}: grader {name}: {problem.where}: {problem.message}")
            options = {**block, "type": member.type_name()}
            grader = read_block(member, options, {"registry": registry})
        except RegistryError as error:
            raise DatasetError(f"{where}: {error}") from None
        except ValidationError as error:
            problems = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
            raise DatasetError(f"{where}: grader {name}: {problems}") from None
        assert isinstance(grader, GraderConfig)  # noqa: S101 what the family holds
        yield grader


def read_own_graders(
    task: Task, dataset: DatasetConfig, registry: Registry, where: str
) -> tuple[GraderConfig, ...]:
    """Return the graders that a row brings, those of a dataset's block in the config included.

    Raises:
        DatasetError: one is wrong, or does what only rows of a trusted dataset may ask for.
    """
    graders = tuple(read_graders(task.graders, registry, where))
    if not dataset.trusted:
        own, given = dataset.own_graders, zip(graders, task.graders, strict=True)
        try:
            check_trust([grader for grader, block in given if block not in own], task, {})
        except ValueError as error:
            raise DatasetError(f"{where}: {error}") from None
    return graders


def add_advisory(
    graders: tuple[GraderConfig, ...], advisory: Iterable[GraderConfig]
) -> tuple[GraderConfig, ...]:
    """Return a row's graders and those that features add, but for one whose name is taken."""
    labels = {grader.label for grader in graders}
    return (*graders, *(grader for grader in advisory if grader.label not in labels))


def check_that_all_is_read(
    task: Task, graders: Iterable[GraderConfig], registry: Registry, where: str
) -> None:
    """Refuse a row with a check that no grader reads, which would be passed over in silence.

    Raises:
        DatasetError: it has one; with the graders that would read it.
    """
    for check in task.checks:
        if not any(one.reads.include(check) for grader in graders for one in unfold(grader)):
            known = ((name, m) for name, m, _ in registry.members("grader"))
            readers = [name for name, m in known if issubclass(m, GraderConfig) and m.reads.include(check)]
            keys, named = ", ".join(f"`{key}`" for key in check), " or ".join(readers)
            raise DatasetError(
                f"{where}: the row has a check with {keys}, but no grader that reads it. "
                f"Add {named or 'a grader that does'}, or take the check out."
            )
