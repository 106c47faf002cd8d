"""Counterexamples as files: a story, two diagrams, a suite of one case, and a test."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from calfsm.cli import manners

if TYPE_CHECKING:
    from calfsm.explore.systems import SystemModel
    from calfsm.explore.tell import Counterexample
    from calfsm.paths.suite import Suite


def files(
    model: SystemModel, found: Counterexample, name: str, specs: Sequence[Path], folder: Path, bent: str = ""
) -> dict[str, str]:
    """The files of one counterexample. `specs` and `bent`: what its test loads, and how it changes that."""
    from calfsm.explore import tell
    from calfsm.paths.suite import dump
    from calfsm.render.mermaid import sequence_mermaid
    from calfsm.render.sequence import interaction
    from calfsm.render.sequence_svg import sequence_svg

    shown = interaction(model, found)
    return {
        f"{name}.txt": tell.told(model, found) + "\n",
        f"{name}.mmd": sequence_mermaid(shown),
        f"{name}.svg": sequence_svg(shown),
        f"{name}.jsonl": dump(suite_of(model, found)),
        f"test_{name}.py": tell.pytest_text(model, found, [_seen_from(folder, path) for path in specs], bent),
    }


def suite_of(model: SystemModel, found: Counterexample) -> Suite:
    """A suite of one case: the trace, and one turn of the cycle."""
    from calfsm.explore.tell import calls
    from calfsm.paths.generate import world_of
    from calfsm.paths.suite import Case, Suite, SuiteStep, difference

    before = start = world_of(model, found.trace.start)
    steps = []
    for (name, arguments), (call, state) in zip(calls(model, found.steps), found.steps, strict=True):
        after = world_of(model, state)
        by = model.system.actions[call[0]].by
        steps.append(SuiteStep(name, arguments, by, False, difference(before, after)))
        before = after
    system = model.system
    case = Case(found.name, (), tuple(steps))
    return Suite(system.name, "system", system.digest, dict(model.engine.params), start, {}, (), (case,))


def make(folder: Path) -> None:
    """Make a folder, unless it is there, and see that files can be made in it. Raises CannotTry."""
    with manners.files_at_hand():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass


def write(texts: Mapping[str, str], folder: Path) -> None:
    """Write files into a folder that is there; none is replaced before all of them are written. Raises CannotTry."""
    with manners.files_at_hand():
        drafts = {name: folder / f".{name}.new" for name in texts}
        try:
            for name, draft in drafts.items():
                draft.write_text(texts[name], encoding="utf-8", newline="\n")
            for name in texts:
                if (folder / name).is_dir():
                    raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(folder / name))
            for name, draft in drafts.items():
                draft.replace(folder / name)
        finally:
            for draft in drafts.values():
                draft.unlink(missing_ok=True)


def _seen_from(folder: Path, path: Path) -> str:
    try:
        return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
    except ValueError:  # on another drive
        return path.resolve().as_posix()
