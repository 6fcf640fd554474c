"""Counts the branches that tests take. Python runs what has this name and is first on its path.

slipcover puts probes into the code, and the tests take a fifth longer. coverage.py traces each line with a
Python that has no ``sys.monitoring``, and they take 60 % longer. Workers of pytest-xdist are measured; the
processes that tests start are not.
"""

from __future__ import annotations

import ast
import atexit
import json
import marshal
import os
import site
import sys
from pathlib import Path
from types import ModuleType

PACKAGE = Path(__file__).parents[2] / "pytest_browsereval"
EXCLUDED = ["if TYPE_CHECKING:", "raise NotImplementedError", "@abstractmethod", r"\.\.\.$"]
WORKER = "import sys;exec(eval(sys.stdin.readline()))"
"""The code that a worker is started with."""
PREPARED = "code.marshal"
"""Code that has room for probes, by its file: each worker would take six seconds to make it."""


def prepare(environment: Path) -> None:
    """Write the code of the package, with room for probes, into an environment that has slipcover."""
    from slipcover.branch import preinstrument

    prepared = {
        str(file): compile(preinstrument(ast.parse(file.read_bytes())), file, "exec", dont_inherit=True)
        for file in PACKAGE.rglob("*.py")
    }
    (environment / PREPARED).write_bytes(marshal.dumps(prepared))


def measure(environment: Path) -> None:
    """Measure this process with the slipcover of an environment, and write there what was found."""
    # In that of the tests, its plug-in of pytest would be imported by each process that a test starts.
    folders = site.getsitepackages([str(environment)])
    sys.path[:0] = folders
    import slipcover
    from _pytest.assertion.rewrite import AssertionRewritingHook

    del sys.path[: len(folders)]
    counter = slipcover.Slipcover(immediate=True, branch=True, source=[str(PACKAGE)], exclude_also=EXCLUDED)
    prepared = marshal.loads((environment / PREPARED).read_bytes())  # noqa: S302 written by this file
    load = AssertionRewritingHook.exec_module

    def load_measured(hook: AssertionRewritingHook, module: ModuleType) -> None:
        """Load a module with probes; pytest loads those of a plug-in's package, to rewrite their asserts."""
        path = Path(module.__file__ or "")
        if path.is_relative_to(PACKAGE):
            hook._rewritten_names[module.__name__] = path
            exec(counter.instrument(prepared[str(path)]), module.__dict__)  # noqa: S102
        else:
            load(hook, module)

    AssertionRewritingHook.exec_module = load_measured  # type: ignore[assignment, method-assign]
    process = os.getpid()

    def write() -> None:
        if os.getpid() == process:  # and not a fork of it
            os.chdir(PACKAGE.parent)
            (environment / f"branches-{process}.json").write_text(json.dumps(counter.get_coverage()))

    atexit.register(write)


if __name__ == "__main__":
    prepare(Path(sys.prefix))
elif "MEASURE_WITH" in os.environ and sys.orig_argv[-1] == WORKER:
    measure(Path(os.environ.pop("MEASURE_WITH")))
