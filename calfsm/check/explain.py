"""What a finding's code means: the rule in a few sentences, a spec that breaks it, and the same spec mended.

Each code has a page, `explanations/CODE.md`:

    # The rule in a line

    A few sentences.

    ## Beside                 files that both examples need
    ## Wrong
    ## Right

Below each heading stand one or more fenced YAML blocks, a file each. What Markdown cannot hold is said behind the word
`yaml`: `encoding=NAME`, `times=N` (the text is repeated), `absent` (the file is not there).
"""

from __future__ import annotations

import re
from importlib.resources import files

import attrs

_PAGES = files("calfsm.check") / "explanations"
_BLOCK = re.compile(r"^```yaml(?P<options>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@attrs.frozen
class Explanation:
    """One rule. `wrong` and `right` are complete files; None is a file that is not there."""

    code: str
    title: str
    text: str
    wrong: tuple[bytes | None, ...]
    right: tuple[bytes | None, ...]
    page: str
    """The whole page, in Markdown."""


def codes() -> list[str]:
    """Every code that a finding can have, sorted."""
    return sorted(page.name.removesuffix(".md") for page in _PAGES.iterdir() if page.name.endswith(".md"))


def explain(code: str) -> Explanation:
    """The explanation of a code. Raises KeyError when there is no such code."""
    if code not in codes():
        raise KeyError(code)
    page = (_PAGES / f"{code}.md").read_text(encoding="utf-8")
    before, *sections = re.split(r"^## (\w+)$", page, flags=re.MULTILINE)
    title, _, text = before.strip().partition("\n")
    blocks = {heading: _blocks(body) for heading, body in zip(sections[::2], sections[1::2], strict=True)}
    beside = blocks.get("Beside", ())
    wrong, right = ((*beside, *blocks.get(heading, ())) for heading in ("Wrong", "Right"))
    return Explanation(code, title.removeprefix("# "), text.strip(), wrong, right, page)


def _blocks(section: str) -> tuple[bytes | None, ...]:
    return tuple(_content(block["options"].split(), block["text"]) for block in _BLOCK.finditer(section))


def _content(options: list[str], text: str) -> bytes | None:
    if "absent" in options:
        return None
    given = dict(option.split("=") for option in options)
    return (text * int(given.get("times", 1))).encode(given.get("encoding", "utf-8"))
