"""`calfsm graph`: the reachable graph, projected onto chosen parts: listed, filtered and drawn."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from calfsm.cli import manners, specs
from calfsm.cli.conditions import conditions
from calfsm.cli.fast import progress_line

if TYPE_CHECKING:
    from calfsm.engine.engine import Snapshot
    from calfsm.engine.system import System
    from calfsm.explore.graph import Graph
    from calfsm.explore.projection import Chosen, Node, Projection
    from calfsm.explore.systems import Call, SystemModel, SystemResult

NAME = "graph"
HELP = "list and draw the reachable graph, projected onto chosen parts"

SUFFIXES = {".dot": "dot", ".svg": "svg", ".mmd": "mermaid", ".json": "json"}
COLLAPSES = ("nothing", "instances", "variables", "chains")
MOST = 60
"""Nodes of a picture that can be read; what is more is collapsed."""
EDGES = 2
"""Edges that can be read, for each node that can be."""
MAX_STATES = 500_000
"""Where a search stops that nobody has limited: at 360 MB, for two jobs in flight."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which system and scope, onto what it is projected, what of it is shown, and how."""
    specs.add_system(parser)
    specs.add_scope(parser)
    parser.add_argument(
        "--project",
        metavar="PART,…",
        help="parts, instances or variables to look at: jobs,model.state,kvs[0]; without, all parts",
    )
    parser.add_argument("--where", metavar="EXPR", help="only states in which this holds")
    parser.add_argument("--from", dest="since", metavar="EXPR", help="only what can be reached from where this holds")
    parser.add_argument("--to", dest="until", metavar="EXPR", help="only what leads to where this holds")
    parser.add_argument("--action", metavar="NAME,…", help="only the edges of these actions")
    parser.add_argument("--self-edges", action="store_true", help="edges of a node to itself, too")
    parser.add_argument(
        "--collapse",
        choices=COLLAPSES,
        help="how much to collapse (without: as little as leaves --most nodes); each does what those before it do",
    )
    parser.add_argument(
        "--most", type=specs.positive, default=MOST, metavar="N", help=f"nodes that can be read (default: {MOST})"
    )
    parser.add_argument(
        "--max-states",
        type=specs.positive,
        default=MAX_STATES,
        metavar="N",
        help=f"stop the search after N states (default: {MAX_STATES:,})",
    )
    parser.add_argument("--max-seconds", type=specs.positive, metavar="S", help="stop the search after S seconds")
    parser.add_argument("--edges", action="store_true", help="list the edges, too")
    into = parser.add_argument(
        "--into", type=Path, metavar="FILE", help="where to write it; the name's ending says what: .dot .svg .mmd .json"
    )
    into.complete = manners.FILES  # type: ignore[attr-defined]
    parser.add_argument(
        "--format",
        choices=("text", *SUFFIXES.values()),
        help="what is made of it (default: what --into's ending says, else text, which is a list)",
    )
    parser.epilog = """
States that look alike in what is projected are one node. `instances` counts the instances of a part and does not tell
them apart, `variables` leaves variables out that were not asked for, `chains` makes one node of what is passed through
in one way only. What was collapsed is said. With --from and --to it is what lies between: ways end where the one of
--to holds first, and do not come by where the one of --from holds again.

exit codes: 0 the whole graph; 2 the search was stopped, and this is of the states seen, or it could not be tried.
"""


@attrs.frozen
class _Drawn:
    """A projection, and what is to be said of it. `only`: what is shown of the graph, where that is not all."""

    system: System
    scope: dict[str, int]
    result: SystemResult
    projection: Projection
    looked_at: str
    only: list[str]
    most: int

    @property
    def said(self) -> list[str]:
        """How much was searched and what was collapsed, a line each."""
        from calfsm.explore.projection import Collapse

        result, shown = self.result, self.projection
        lines = [f"{self.system.name} at {specs.shown_scope(self.scope)}" if self.scope else self.system.name]
        lines += [f"only {text}" for text in self.only]
        seen = sum(node.states for node in shown.nodes)
        of = "" if seen == result.states else f" of {result.states:,}"
        nodes, edges = manners.counted(len(shown.nodes), "node"), manners.counted(len(shown.edges), "edge")
        lines.append(f"{seen:,}{of} states in {nodes}, {edges}")
        if result.stopped:
            lines.append(f"stopped early: {result.stopped}; this is of the states seen")
        done = {
            Collapse.INSTANCES: "instances are counted, of a reference is only said whether it leads somewhere",
            Collapse.VARIABLES: "variables are left out",
            Collapse.CHAINS: "what is passed through in one way only is one node",
        }
        if shown.collapsed:
            lines.append(f"collapsed: {'; '.join(done[level] for level in shown.collapsed)}")
        return lines


def run(args: argparse.Namespace) -> int:
    """Search, project, and list or draw."""
    form = _format(args)
    compiled, system, scope = specs.one_system(args, "drawn")
    asked = [(name, text) for name, text in _expressions(args) if text is not None]
    counting, terms = conditions(asked, compiled, system) if asked else (system, [])
    with manners.progress() as show:
        model, graph, result = _searched(counting, scope, args, show)
        show(f"{system.name}: projecting")
        chosen = [_choice(model, text) for text in _names(args.project)] or _everything(model)
        given = dict(zip([name for name, _ in asked], map(model.condition, terms), strict=True))
        shown = _projection(model, graph, chosen, given, args)
    drawn = _Drawn(system, scope, result, shown, ",".join(_names(args.project)) or "all parts", _only(args), args.most)
    _put(_TEXTS[form](drawn, args), args.into)
    if args.into is not None:
        manners.note(f"{args.into}: {'; '.join(drawn.said[1:])}")
    return manners.NOT_TRIED if result.stopped else manners.HOLDS


def _format(args: argparse.Namespace) -> str:
    if args.format is not None:
        return str(args.format)
    if args.into is None:
        return "text"
    if args.into.suffix not in SUFFIXES:
        raise manners.CannotTry(
            f"what {args.into} is to hold is not said", f"end its name in {', '.join(SUFFIXES)}, or say --format"
        )
    return SUFFIXES[args.into.suffix]


def _expressions(args: argparse.Namespace) -> list[tuple[str, str | None]]:
    return [("--where", args.where), ("--from", args.since), ("--to", args.until)]


def _only(args: argparse.Namespace) -> list[str]:
    """What is shown of the graph, a line each."""
    said = [f"where `{args.where}`"] if args.where else []
    if args.since and args.until:
        said.append(f"what lies between where `{args.since}` and where `{args.until}`")
    elif args.since or args.until:
        leads = "can be reached from" if args.since else "leads to"
        said.append(f"what {leads} where `{args.since or args.until}`")
    return said + ([f"by {', '.join(_names(args.action))}"] if args.action is not None else [])


def _searched(
    system: System, scope: dict[str, int], args: argparse.Namespace, show: manners.Say
) -> tuple[SystemModel, Graph[Snapshot, Call], SystemResult]:
    from calfsm.explore.graph import Graph
    from calfsm.explore.search import search
    from calfsm.explore.systems import SystemModel

    try:
        model = SystemModel(system, **scope)
    except ValueError as error:
        raise manners.CannotTry(str(error), "give every part one instance at least") from None
    graph: Graph[Snapshot, Call] = Graph(model.initial())
    result = search(
        model,
        max_states=args.max_states,
        max_seconds=args.max_seconds,
        progress=lambda now: show(progress_line(system.name, now)),
        visit=graph.visit,
    )
    graph.close(result.complete)
    return model, graph, result


def _names(text: str | None) -> list[str]:
    return list(dict.fromkeys(name.strip() for name in (text or "").split(",") if name.strip()))


def _everything(model: SystemModel) -> list[Chosen]:
    from calfsm.explore.projection import Chosen

    return [Chosen(part) for part in range(len(model.system.parts))]


def _choice(model: SystemModel, text: str) -> Chosen:
    """`jobs`, `jobs[0]`, `model.state` or `jobs[0].buffer`. Raises CannotTry."""
    from calfsm.explore.projection import STATE, Chosen
    from calfsm.spec.findings import nearest

    where, dot, field = text.partition(".")
    name, bracket, number = where.partition("[")
    names = [part.name for part in model.system.parts]
    if name not in names:
        raise manners.CannotTry(f"{model.system.name} has no part `{name}`", nearest(name, names))
    part = names.index(name)
    count = len(model.engine.states[part])
    index = number.removesuffix("]")
    if bracket and not (number.endswith("]") and index.isdecimal() and int(index) < count):
        raise manners.CannotTry(f"`{where}` is not there at this scope", f"write {name}[0] to {name}[{count - 1}]")
    fields = ["state", *(row.name for row in model.system.parts[part].table.variables)]
    if dot and field not in fields:
        raise manners.CannotTry(f"{name} have no `{field}`", nearest(field, fields))
    return Chosen(part, int(index) if bracket else None, fields.index(field) + STATE if dot else None)


def _projection(
    model: SystemModel,
    graph: Graph[Snapshot, Call],
    chosen: Sequence[Chosen],
    given: dict[str, Any],
    args: argparse.Namespace,
) -> Projection:
    from calfsm.explore.projection import Collapse, Shown, project
    from calfsm.spec.findings import nearest

    known = [row.name for row in model.system.actions]
    for name in _names(args.action):
        if name not in known:
            raise manners.CannotTry(f"`{name}` is no action of {model.system.name}", nearest(name, known))
    actions = None if args.action is None else frozenset(_names(args.action))
    of = Shown(given.get("--where"), given.get("--from"), given.get("--to"), actions, args.self_edges)
    collapse = None if args.collapse is None else Collapse(COLLAPSES.index(args.collapse))
    shown = project(model, graph, chosen, most=args.most, collapse=collapse, of=of)
    if not shown.nodes:
        raise manners.CannotTry("no state is left to be shown", "ask for less in --where, --from, --to and --action")
    return shown


# ---- what is made of it


def _text(drawn: _Drawn, args: argparse.Namespace) -> str:
    shown = drawn.projection
    rows = [
        (number, _look(node), node.states, node.depth, "-" if node.moves is None else node.moves)
        for number, node in enumerate(shown.nodes)
    ]
    lines = [*drawn.said, manners.table(("node", drawn.looked_at, "states", "depth", "moves"), rows)]
    if args.edges:
        by = {row.name: row.by for row in drawn.system.actions}
        edges = [
            (edge.source, edge.target, name, by[name], count)
            for edge in shown.edges
            for name, count in edge.actions.items()
        ]
        lines.append(manners.table(("from", "to", "action", "by", "transitions"), edges))
    return "\n".join(lines)


def _look(node: Node) -> str:
    return " ... ".join("; ".join(look) for look in node.looks)


def _picture(drawn: _Drawn) -> tuple[Projection, str, list[str], dict[str, str]]:
    """What the pictures need. Raises CannotTry where nobody could read one."""
    nodes, edges, most = len(drawn.projection.nodes), len(drawn.projection.edges), drawn.most
    if nodes > most or edges > EDGES * most:
        raise manners.CannotTry(
            f"{nodes:,} nodes and {edges:,} edges are more than can be read, at most {most:,} and {EDGES * most:,}",
            "take a smaller --scope, project onto fewer parts or one instance, ask for less with --where or --action, "
            "or raise --most",
        )
    by = {row.name: row.by for row in drawn.system.actions}
    return drawn.projection, f"{drawn.system.name}: {drawn.looked_at}", drawn.said, by


def _dot(drawn: _Drawn, args: argparse.Namespace) -> str:
    from calfsm.render.projection import projection_dot

    return projection_dot(*_picture(drawn))


def _svg(drawn: _Drawn, args: argparse.Namespace) -> str:
    from calfsm.render import CannotDraw, draw_svg
    from calfsm.render.projection import REMARK

    try:
        return draw_svg(_dot(drawn, args), REMARK)
    except CannotDraw as error:
        raise manners.CannotTry(error.message, f"{error.fix}; or write DOT or Mermaid") from None


def _mermaid(drawn: _Drawn, args: argparse.Namespace) -> str:
    from calfsm.render.projection import projection_mermaid

    return projection_mermaid(*_picture(drawn))


def _json(drawn: _Drawn, args: argparse.Namespace) -> str:
    shown = drawn.projection
    nodes = [attrs.asdict(node) for node in shown.nodes]
    edges = [{"source": edge.source, "target": edge.target, "actions": dict(edge.actions)} for edge in shown.edges]
    record = {
        "system": drawn.system.name,
        "digest": drawn.system.digest,
        "scope": drawn.scope,
        "projected": drawn.looked_at,
        "only": drawn.only,
        "states": drawn.result.states,
        "transitions": drawn.result.transitions,
        "complete": drawn.result.complete,
        "collapsed": [COLLAPSES[level] for level in shown.collapsed],
        "nodes": nodes,
        "edges": edges,
    }
    return json.dumps(record, indent=2, ensure_ascii=False)


_TEXTS: dict[str, Callable[[_Drawn, argparse.Namespace], str]] = {
    "text": _text,
    "dot": _dot,
    "svg": _svg,
    "mermaid": _mermaid,
    "json": _json,
}


def _put(text: str, into: Path | None) -> None:
    from calfsm.compile.build import replace

    if into is None:
        manners.say(text.rstrip("\n"))
        return
    with manners.files_at_hand():
        replace(into, text.rstrip("\n") + "\n")
