"""`calfsm explain`: what a finding's code means, with a spec that is wrong and the same spec mended."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from calfsm.cli import manners

if TYPE_CHECKING:
    from calfsm.check import Explanation

NAME = "explain"
HELP = "tell what a finding means, with a bad and a mended example"

_HEADINGS = {"Beside": ("beside it:", "blue"), "Wrong": ("wrong:", "red"), "Right": ("mended:", "green")}
_OPTIONS = {"times": "and so on, {} times", "encoding": "saved as {}", "absent": "this file is not there"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which code, and how to print it."""
    parser.add_argument("code", nargs="?", metavar="CODE", help="what stands in [ ] in a finding; without, all of them")
    manners.add_format(parser)


def run(args: argparse.Namespace) -> int:
    """Explain one code, or list them all."""
    from calfsm.check import codes, explain

    known = codes()
    if args.code is None:
        _list_all([explain(code) for code in known], args.format)
        return manners.HOLDS
    code = args.code.strip("[]")
    if code not in known:
        raise manners.CannotTry(f"no finding has the code `{code}`", _way_out(code, known))
    if args.format == "json":
        manners.say_json(_fields(explain(code)))
    else:
        manners.say("\n".join(_lines(explain(code))))
    return manners.HOLDS


def _list_all(explanations: list[Explanation], format: str) -> None:
    if format == "json":
        manners.say_json([_fields(it) for it in explanations])
    else:
        manners.say(manners.table(("code", "rule"), [(it.code, it.title) for it in explanations]))


def _way_out(code: str, known: list[str]) -> str:
    from calfsm.spec.findings import nearest

    near = nearest(code.lower(), known)
    return near if near.startswith("did") else "`calfsm explain` lists them"


def _fields(it: Explanation) -> dict[str, str]:
    return {"code": it.code, "title": it.title, "text": it.text, "page": it.page}


def _lines(it: Explanation) -> Iterator[str]:
    """The page without its Markdown: blocks indented, headings in the words and colours of a terminal."""
    yield f"{manners.painted(it.code, 'bold')}: {it.title}"
    inside = False
    for line in it.page.strip().splitlines()[1:]:
        if line.startswith("```"):
            inside = not inside
            yield from _said_of_block(line) if inside else ()
        elif inside:
            yield "    " + line.replace("\t", "→")
        elif line.startswith("## "):
            caption, colour = _HEADINGS[line.removeprefix("## ").strip()]
            yield manners.painted(caption, colour, "bold")
        else:
            yield line


def _said_of_block(fence: str) -> Iterator[str]:
    """What Markdown cannot hold of an example, in words."""
    for option in fence.removeprefix("```yaml").split():
        name, _, value = option.partition("=")
        yield f"    ({_OPTIONS[name].format(value)})"
