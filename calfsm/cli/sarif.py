"""Findings as a SARIF 2.1.0 log, which code hosts and editors read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from calfsm import __version__
from calfsm.check import explain
from calfsm.spec.findings import Finding

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def sarif(findings: Sequence[Finding]) -> dict[str, Any]:
    """One run, with a rule for each code that was found."""
    codes = list(dict.fromkeys(finding.code for finding in findings))
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "calfsm",
                        "semanticVersion": __version__,
                        "rules": [_rule(code) for code in codes],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(finding, codes.index(finding.code)) for finding in findings],
            }
        ],
    }


def _rule(code: str) -> dict[str, Any]:
    explanation = explain(code)
    return {
        "id": code,
        "shortDescription": {"text": explanation.title},
        "fullDescription": {"text": explanation.text},
        "help": {"text": f"`calfsm explain {code}` shows an example.", "markdown": explanation.page},
    }


def _result(finding: Finding, rule: int) -> dict[str, Any]:
    return {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": finding.severity.value,
        "message": {"text": "\n".join(line for line in (finding.message, finding.because, finding.fix) if line)},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": uri(finding.place.file)},
                    "region": {"startLine": finding.place.line, "startColumn": finding.place.column},
                }
            }
        ],
    }


def uri(file: str) -> str:
    """A relative path as a relative URI, so that a code host finds it; an absolute one as `file:`."""
    path = Path(file)
    if path.is_absolute():
        return "file://" + quote(os.fsencode(path.as_posix()))
    return quote(os.fsencode(path.as_posix()))
