"""Small systems made up by Hypothesis, as the YAML that a person would write."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import strategies as st

STATES = ("idle", "busy", "over")
EVENTS = ("go", "stop", "tick")
HUES = ("red", "green", "blue")
VARIABLES = {
    "flag": "{bool: false}",
    "num": "{int: [0, most]}",
    "hue": "{enum: [red, green, blue]}",
    "turn": "{cycle: 3}",
    "link": "{ref: crowd}",
    "boss": "{ref: head}",
}
VALUES = {
    "flag": ("true", "false", "not flag", "num == 1"),
    "num": ("0", "1", "most", "(num + 1) % 2", "num // 2"),
    "hue": HUES,
    "turn": ("turn + 1", "turn - 1", "0", "turn * 2"),
    "link": ("none",),
    "boss": ("none",),
}
GUARDS = (
    "flag",
    "not flag",
    "num < most",
    "num == 0 or flag",
    "0 <= num < 1",
    "hue is red",
    "hue not in {red, blue}",
    "turn != 1",
    "link == none",
    "boss != none and num + turn > 1",
)
PARTS = ("head", "crowd", "tails")
"""One; many; and one for each of the many."""
REFERENCES = {"link": "crowd", "boss": "head"}


class Texts(NamedTuple):
    """The documents of a system, and the picks and choices of its actions."""

    documents: tuple[str, ...]
    arguments: dict[str, dict[str, str]]
    """By action: for each argument the part that it is picked from, or an empty string for a choice."""


@st.composite
def systems(draw: st.DrawFn) -> Texts:
    """Three machines with all kinds of variables, three parts, up to five actions."""
    documents = [draw(_machine(f"kind_{part}")) for part in PARTS]
    defined = {f"known_{index}": draw(_condition((), 1)) for index in range(draw(st.integers(0, 2)))}
    actions, arguments = [], {}
    for index in range(draw(st.integers(2, 5))):
        name = f"act_{index}"
        text, arguments[name] = draw(_action(tuple(defined)))
        actions.append(f"  {name}: {text}")
    lines = [
        "system: made",
        "params: {size: {serves: 5, explores: 2}}",
        "parts:",
        "  head:  {machine: kind_head}",
        f"  crowd: {{machine: kind_crowd, count: {draw(st.sampled_from(('size', '3', '1')))}}}",
        "  tails: {machine: kind_tails, per: crowd}",
        *(["define:"] if defined else []),
        *(f'  {name}: "{condition}"' for name, condition in defined.items()),
        "actions:",
        *actions,
    ]
    return Texts((*documents, "\n".join(lines)), arguments)


@st.composite
def _machine(draw: st.DrawFn, name: str) -> str:
    lines = [f"machine: {name}", "params: {most: {serves: 9, explores: 2}}", "vars:"]
    initial = {variable: draw(st.sampled_from(("", ", initial: 0"))) for variable in REFERENCES}
    lines += [f"  {variable}: {kind[:-1]}{initial.get(variable, '')}}}" for variable, kind in VARIABLES.items()]
    lines += ["states:", "  idle: {initial: true}", "  busy: {}", "  over: {}", "events:"]
    lines += [f"  {event}: {{by: engine}}" for event in EVENTS]
    lines += ["transitions:"]
    for state in STATES:
        cells = {event: draw(_cell()) for event in EVENTS}
        written = ", ".join(f"{event}: {cell}" for event, cell in cells.items() if cell)
        lines.append(f"  {state}: {{{written}}}")
    return "\n".join(lines)


@st.composite
def _cell(draw: st.DrawFn) -> str:
    kind = draw(st.sampled_from(("plain", "plain", "only", "only", "either", "either", "guarded", "refused")))
    if kind == "refused":
        return ""
    if kind == "plain":
        return draw(st.sampled_from(STATES))
    answers = [draw(_answer()) for _ in range(2 if kind == "either" else 1)]
    if kind == "only":
        return f"{{{answers[0]}}}"
    guarded = f'{{when: "{draw(st.sampled_from(GUARDS))}", {answers[0]}}}'
    return guarded if kind == "guarded" else f"[{guarded}, {{else: true, {answers[1]}}}]"


@st.composite
def _answer(draw: st.DrawFn) -> str:
    where = draw(st.sampled_from((*(f"to: {state}" for state in STATES), "stay: So it is.")))
    sets = draw(st.lists(st.sampled_from(tuple(VALUES)), max_size=2, unique=True))
    values = ", ".join(f'{name}: "{draw(st.sampled_from(VALUES[name]))}"' for name in sets)
    return f"{where}, set: {{{values}}}" if values else where


Scope = tuple[tuple[str, str], ...]
"""Names of instances, and their parts."""


@st.composite
def _path(draw: st.DrawFn, scope: Scope, part: str = "") -> tuple[str, str]:
    """A path to an instance (of `part`, when given), and its part. The nearest name is likeliest."""
    paths = dict(scope) | {"head": "head"}
    for _ in range(2):
        for path, where in list(paths.items()):
            if path.count(".") < 2:
                paths |= {f"{path}.{variable}": target for variable, target in REFERENCES.items()}
                if where == "crowd":
                    paths[f"{path}.tails"] = "tails"
    fit = [(path, where) for path, where in paths.items() if part in ("", where)]
    near = [(path, where) for path, where in fit if "." not in path] or fit
    return draw(st.sampled_from((*near[:1] * 2 * len(fit), *near * len(fit), *fit)))


@st.composite
def _condition(draw: st.DrawFn, scope: Scope, depth: int, defined: tuple[str, ...] = ()) -> str:
    kinds = ["state", "state", "data", "number", "hue", "same", "none"]
    kinds += ["count", "count", "all", "all", "not", "both"] if depth else []
    kinds += ["defined"] if defined else []
    match draw(st.sampled_from(kinds)):
        case "state":
            path, _ = draw(_path(scope))
            test = draw(st.sampled_from(("is idle", "is not busy", "in {idle, over}", "not in {busy, over}")))
            return f"{path} {test}"
        case "data":
            path, _ = draw(_path(scope))
            return draw(st.sampled_from((f"{path}.flag", f"{path}.flag == true", f"{path}.flag != true")))
        case "number":
            (one, _), (other, _) = draw(_path(scope)), draw(_path(scope))
            form = draw(
                st.sampled_from(
                    (
                        "{0}.num < most",
                        "{0}.num == {1}.turn",
                        "0 <= {0}.num < 2",
                        "{0}.num + {1}.num >= 2",
                        "{0}.turn - 1 != {1}.num",
                        "({0}.num - 2) // 2 == -1",
                        "({0}.turn - 2) % 2 == {1}.num",
                    )
                )
            )
            return form.format(one, other)
        case "hue":
            path, _ = draw(_path(scope))
            test = draw(st.sampled_from(("is red", "is not red", "in {red, blue}", "== green", "!= blue")))
            return f"{path}.hue {test}"
        case "same":
            (one, part) = draw(_path(scope))
            other, _ = draw(_path(scope, part))
            return f"{one} {draw(st.sampled_from(('==', '!=')))} {other}"
        case "none":
            path, _ = draw(_path(scope))
            reference = draw(st.sampled_from(tuple(REFERENCES)))
            return f"{path}.{reference} {draw(st.sampled_from(('==', '!=')))} none"
        case "count" | "all" as kind:
            variable = f"x{len(scope)}"
            part = draw(st.sampled_from(PARTS))
            inner = draw(_condition(((variable, part), *scope), depth - 1, defined))
            if kind == "count":
                comparison = draw(st.sampled_from(("== 0", "> 0", "<= 1", "!= size")))
                return f"count({variable} for {variable} in {part} if {inner}) {comparison}"
            word = draw(st.sampled_from(("all", "any")))
            where = draw(st.sampled_from(("", f" if {variable} is not over", f" if {variable}.flag")))
            return f"{word}({inner} for {variable} in {part}{where})"
        case "not":
            return f"not ({draw(_condition(scope, depth - 1, defined))})"
        case "both":
            word = draw(st.sampled_from(("and", "or")))
            left, right = draw(_condition(scope, depth - 1, defined)), draw(_condition(scope, depth - 1, defined))
            return f"({left}) {word} ({right})"
    return draw(st.sampled_from(defined))


@st.composite
def _action(draw: st.DrawFn, defined: tuple[str, ...]) -> tuple[str, dict[str, str]]:
    picks = {f"p{index}": draw(st.sampled_from(PARTS)) for index in range(draw(st.integers(0, 2)))}
    choices = ("n",) if draw(st.booleans()) else ()
    scope = tuple(picks.items())
    fire: dict[str, str] = {}
    for _ in range(draw(st.integers(1, 3))):
        who = draw(_participant(scope))
        events = draw(st.lists(st.sampled_from(EVENTS), min_size=1, max_size=2))
        fire.setdefault(who, f"[{', '.join(events)}]")
    sets: dict[str, str] = {}
    for _ in range(draw(st.integers(0, 3))):
        path, _ = draw(_path(scope))
        variable = draw(st.sampled_from(tuple(VARIABLES)))
        sets[f"{path}.{variable}"] = draw(_value(scope, path, variable, choices))
    parts = ["by: engine"]
    picked = [f"{name}: {part}" for name, part in picks.items()]
    parts += [f"pick: {{{', '.join(picked)}}}"] if picked else []
    parts += ["choose: {n: [0, size]}"] if choices else []
    parts += [f'when: "{draw(_condition(scope, 2, defined))}"'] if draw(st.booleans()) else []
    fired = [f"{who}: {events}" for who, events in fire.items()]
    parts += [f"fire: {{{', '.join(fired)}}}"]
    updates = [f'{target}: "{value}"' for target, value in sets.items()]
    parts += [f"set: {{{', '.join(updates)}}}"] if updates else []
    return f"{{{', '.join(parts)}}}", {**picks, **dict.fromkeys(choices, "")}


@st.composite
def _participant(draw: st.DrawFn, scope: Scope) -> str:
    match draw(st.sampled_from(("path", "path", "all", "where"))):
        case "all":
            return f"all {draw(st.sampled_from(PARTS))}"
        case "where":
            reference = draw(st.sampled_from(tuple(REFERENCES)))
            target, _ = draw(_path(scope, REFERENCES[reference]))
            return f"{draw(st.sampled_from(PARTS))} where {reference} == {target}"
    return draw(_path(scope))[0]


@st.composite
def _value(draw: st.DrawFn, scope: Scope, path: str, variable: str, choices: tuple[str, ...]) -> str:
    if variable in REFERENCES:
        return draw(st.sampled_from(("none", draw(_path(scope, REFERENCES[variable]))[0])))
    if variable == "hue":
        return draw(st.sampled_from((*HUES, f"{path}.hue")))
    if variable == "flag":
        return draw(st.sampled_from(("true", "false", f"not {path}.flag", draw(_condition(scope, 0)))))
    other, _ = draw(_path(scope))
    return draw(st.sampled_from(("0", "1", f"{path}.{variable} + 1", f"{other}.num", f"{other}.turn - 1", *choices)))
