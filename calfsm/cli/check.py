"""`calfsm check`: everything that is wrong in specs, at once, for a reader, a program, a code host or an annotation."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from calfsm.cli import manners

if TYPE_CHECKING:
    from calfsm.spec.findings import Finding

NAME = "check"
HELP = "find everything that is wrong in specs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which specs, and how to report."""
    manners.add_paths(parser)
    manners.add_format(parser, ("text", "json", "sarif", "github"))


def run(args: argparse.Namespace) -> int:
    """Check, report, and fail on any error. Warnings are shown and do not fail."""
    from calfsm.check import check_files

    files = manners.spec_files(args.paths)
    findings = list(check_files(files).findings)
    _all_were_read(findings)
    _REPORTS[args.format](findings, files)
    return manners.FAILS if _errors(findings) else manners.HOLDS


def _all_were_read(findings: Sequence[Finding]) -> None:
    """What cannot be read cannot be judged. Raises CannotTry."""
    for finding in findings:
        if finding.code == "unreadable":
            raise manners.CannotTry(f"{finding.place.file}: {finding.message}", finding.fix)


def _errors(findings: Sequence[Finding]) -> int:
    return sum(finding.severity.value == "error" for finding in findings)


def _summary(findings: Sequence[Finding], files: Sequence[Path]) -> str:
    errors = _errors(findings)
    found = f"{manners.counted(errors, 'error')}, {manners.counted(len(findings) - errors, 'warning')}"
    return f"{manners.counted(len(files), 'file')} checked: {found}"


def _as_text(findings: Sequence[Finding], files: Sequence[Path]) -> None:
    for finding in findings:
        manners.say(_painted(finding))
    bad = _errors(findings) > 0
    manners.say(manners.painted(_summary(findings, files), "red" if bad else "yellow" if findings else "green"))


def _painted(finding: Finding) -> str:
    """`str(finding)`, its place bold and its severity in colour."""
    severity = finding.severity.value
    head = manners.painted(f"{severity}[{finding.code}]", "red" if severity == "error" else "yellow", "bold")
    place, message, *more = (manners.visible(str(part)) for part in (finding.place, finding.message, *_more(finding)))
    return "\n".join([f"{manners.painted(place, 'bold')}: {head}: {message}", *(f"  {line}" for line in more)])


def _more(finding: Finding) -> list[str]:
    return [line for line in (finding.because, finding.fix) if line]


def _as_json(findings: Sequence[Finding], files: Sequence[Path]) -> None:
    errors = _errors(findings)
    manners.say_json(
        {
            "files": [str(file) for file in files],
            "errors": errors,
            "warnings": len(findings) - errors,
            "findings": [_fields(finding) for finding in findings],
        }
    )


def _fields(finding: Finding) -> dict[str, object]:
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "file": finding.place.file,
        "line": finding.place.line,
        "column": finding.place.column,
        "message": finding.message,
        "because": finding.because,
        "fix": finding.fix,
    }


def _as_sarif(findings: Sequence[Finding], files: Sequence[Path]) -> None:
    from calfsm.cli.sarif import sarif

    manners.say_json(sarif(findings))
    manners.note(_summary(findings, files))


def _as_github(findings: Sequence[Finding], files: Sequence[Path]) -> None:
    for finding in findings:
        manners.say(workflow_command(finding))
    manners.note(_summary(findings, files))


def workflow_command(finding: Finding) -> str:
    """The line by which a GitHub workflow annotates the place of a finding."""
    place = finding.place
    properties = {"file": place.file, "line": place.line, "col": place.column, "title": finding.code}
    said = ",".join(f"{key}={_escaped(str(value), ':,')}" for key, value in properties.items())
    message = "\n".join([finding.message, *_more(finding)])
    return f"::{finding.severity.value} {said}::{_escaped(message)}"


def _escaped(text: str, also: str = "") -> str:
    for character in "%\r\n" + also:  # `%` first: it begins the other escapes
        text = text.replace(character, f"%{ord(character):02X}")
    return text


_REPORTS: dict[str, Callable[[Sequence[Finding], Sequence[Path]], None]] = {
    "text": _as_text,
    "json": _as_json,
    "sarif": _as_sarif,
    "github": _as_github,
}
