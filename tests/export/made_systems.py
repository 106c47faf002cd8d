"""Small systems made up from a number: always the same one for the same number. Much can happen in most of them."""

from __future__ import annotations

from random import Random

from calfsm.compile.load import compile_specs
from calfsm.engine.system import System
from calfsm.spec.model import MachineSpec, SystemSpec
from calfsm.spec.read import read_spec_text

VARIABLES = {
    "flag": "{bool: false}",
    "num": "{int: [-1, most], initial: 0}",
    "hue": "{enum: [red, green, blue]}",
    "turn": "{cycle: 3}",
    "link": "{ref: crowd}",
    "boss": "{ref: head}",
    "mate": "{ref: crowd}",
}
UPDATES = {
    "flag": ("true", "false", "not flag", "num == 1"),
    "num": ("0", "most", "(num + 1) % 2", "num // 2", "-1 - num // 3", "0 - turn % 2"),
    "hue": ("red", "green", "blue"),
    "turn": ("turn + 1", "turn - 1", "turn * 2", "num + turn"),
    "link": ("none", "mate"),
    "boss": ("none",),
    "mate": ("none", "link"),
}
TESTS = (
    "flag",
    "not flag",
    "num < most",
    "num == 0 or flag",
    "hue is red",
    "hue not in {red, blue}",
    "turn != 1",
    "link == none",
    "link == mate",
    "boss != none and num + turn > 1",
)
REFERENCES = {"link": "crowd", "boss": "head", "mate": "crowd"}
PARTS = ("head", "crowd", "tails")
STATES = ("idle", "busy", "over")
EVENTS = ("go", "stop", "tick", "turn")


def made_system(number: int) -> System:
    """The system of a number: three machines, four instances or five, up to ten actions, two properties."""
    return compiled(*documents(number))


def compiled(*texts: str) -> System:
    """The system in some documents that have one, and are taken to be right."""
    machines: dict[str, MachineSpec] = {}
    systems: list[SystemSpec] = []
    for text in texts:
        spec = read_spec_text(text, "made.yaml").spec
        if isinstance(spec, MachineSpec):
            machines[spec.name] = spec
        elif isinstance(spec, SystemSpec):
            systems.append(spec)
    return compile_specs(machines, {systems[0].name: systems[0]}).systems[systems[0].name]


def documents(number: int) -> list[str]:
    """The documents of the system of a number."""
    return _Maker(Random(number)).documents()


class _Maker:
    def __init__(self, chance: Random) -> None:
        self.chance = chance

    def documents(self) -> list[str]:
        actions = [f"  act_{index}: {self.action()}" for index in range(self.chance.randint(5, 10))]
        for part in PARTS:  # something that is often possible, and a reference that often leads somewhere
            reference = self.chance.choice(sorted(REFERENCES))
            target = "p" if REFERENCES[reference] == part else "head" if reference == "boss" else "none"
            actions.append(
                f"  plain_{part}: {{by: engine, pick: {{p: {part}}}, fire: {{p: {self.chance.choice(EVENTS)}}},"
                f" set: {{p.{reference}: {target}}}}}"
            )
        system = [
            "system: made",
            "params: {size: {serves: 5, explores: 2}}",
            "parts:",
            "  head:  {machine: kind_head}",
            f"  crowd: {{machine: kind_crowd, count: {self.chance.choice(('size', '1', '2'))}}}",
            "  tails: {machine: kind_tails, per: crowd}",
            f'define: {{known: "{self.condition({}, 1)}"}}',
            "actions:",
            *actions,
            "always:",
            f'  first: "known or {self.condition({}, 1)}"',
            f'  second: "{self.condition({}, 2)}"',
        ]
        return [*(self.machine(f"kind_{part}") for part in PARTS), "\n".join(system)]

    def machine(self, name: str) -> str:
        lines = [f"machine: {name}", "params: {most: {serves: 9, explores: 1}}", "vars:"]
        lines += [f"  {variable}: {kind}" for variable, kind in VARIABLES.items()]
        lines += ["states:", "  idle: {initial: true}", "  busy: {}", "  over: {}", "events:"]
        lines += [f"  {event}: {{by: engine}}" for event in EVENTS]
        lines += ["transitions:"]
        for state in STATES:
            cells = {event: self.cell() for event in EVENTS}
            lines.append(f"  {state}: {{{', '.join(f'{event}: {cell}' for event, cell in cells.items() if cell)}}}")
        return "\n".join(lines)

    def cell(self) -> str:
        match self.chance.choice(("refused", "plain", "plain", "plain", "only", "guarded", "either")):
            case "refused":
                return ""
            case "plain":
                return self.chance.choice(STATES)
            case "only":
                return f"{{{self.answer()}}}"
            case "guarded":
                return f'{{when: "{self.chance.choice(TESTS)}", {self.answer()}}}'
        return f'[{{when: "{self.chance.choice(TESTS)}", {self.answer()}}}, {{else: true, {self.answer()}}}]'

    def answer(self) -> str:
        where = self.chance.choice((*(f"to: {state}" for state in STATES), "stay: So it is."))
        names = self.chance.sample(sorted(UPDATES), self.chance.choice((0, 0, 1, 2)))
        values = ", ".join(f'{name}: "{self.chance.choice(UPDATES[name])}"' for name in names)
        return f"{where}, set: {{{values}}}" if values else where

    def path(self, scope: dict[str, str], part: str = "") -> str:
        """A path to an instance (of `part`, when given), seldom through many references."""
        paths = {**scope, "head": "head"}
        for _ in range(2):
            for path, where in list(paths.items()):
                if path.count(".") < 2:
                    paths |= {f"{path}.{name}": target for name, target in REFERENCES.items()}
                    paths |= {f"{path}.tails": "tails"} if where == "crowd" else {}
        fit = [path for path, where in paths.items() if part in ("", where)]
        return self.chance.choices(fit, [1 / 4 ** path.count(".") for path in fit])[0]

    def part_of(self, path: str, scope: dict[str, str]) -> str:
        first, *fields = path.split(".")
        part = {**scope, "head": "head"}[first]
        for field in fields:
            part = REFERENCES.get(field, field)
        return part

    def condition(self, scope: dict[str, str], depth: int) -> str:
        pick = self.chance.choice
        one, other = self.path(scope), self.path(scope)
        kinds = ["state", "state", "data", "number", "hue", "same", "none"]
        match pick(kinds + ["count", "all", "not", "both"] * bool(depth)):
            case "state":
                return f"{one} {pick(('is idle', 'is not busy', 'in {idle, over}', 'not in {busy, over}'))}"
            case "data":
                return f"{one}.flag{pick(('', ' == true', ' != true'))}"
            case "number":
                forms = ("{0}.num < most", "{0}.num == {1}.turn", "0 <= {0}.num < 2", "{0}.turn - 1 != {1}.num")
                forms += ("({0}.num - 2) // 2 == -1", "({0}.turn - 2) % 2 == {1}.num")
                forms += ("{0}.num // -2 < {1}.num % -2 + 1",)
                return pick(forms).format(one, other)
            case "hue":
                return f"{one}.hue {pick(('is red', 'is not red', 'in {red, blue}', '== green', '!= blue'))}"
            case "same":
                part = self.part_of(one, scope)
                return f"{one} {pick(('==', '!='))} {self.path(scope, part)}"
            case "none":
                return f"{one}.{pick(sorted(REFERENCES))} {pick(('==', '!='))} none"
            case "count":
                part, name = pick(PARTS), f"x{len(scope)}"
                inner = self.condition({name: part, **scope}, depth - 1)
                return f"count({name} for {name} in {part} if {inner}) {pick(('== 0', '> 0', '<= 1', '!= size'))}"
            case "all":
                part, name = pick(PARTS), f"x{len(scope)}"
                inner = self.condition({name: part, **scope}, depth - 1)
                where = pick(("", f" if {name} is not over", f" if {name}.flag"))
                return f"{pick(('all', 'any'))}({inner} for {name} in {part}{where})"
            case "not":
                return f"not ({self.condition(scope, depth - 1)})"
        left, right = self.condition(scope, depth - 1), self.condition(scope, depth - 1)
        return f"(({left}) {pick(('and', 'or'))} ({right}))"

    def action(self) -> str:
        chance = self.chance
        scope = {f"p{index}": chance.choice(PARTS) for index in range(chance.randint(0, 2))}
        chooses = chance.random() < 0.2
        fired: dict[str, str] = {}
        for _ in range(chance.choice((1, 1, 2, 3))):
            events = chance.choices(EVENTS, k=chance.choice((1, 1, 2)))
            fired.setdefault(self.participant(scope), f"[{', '.join(events)}]")
        settings: dict[str, str] = {}
        for _ in range(chance.choice((0, 1, 2))):
            path = self.path(scope)
            variable = chance.choice(sorted(VARIABLES))
            settings[f"{path}.{variable}"] = self.value(scope, path, variable, chooses)
        parts = ["by: engine"]
        parts += [f"pick: {{{', '.join(f'{name}: {part}' for name, part in scope.items())}}}"] if scope else []
        parts += ["choose: {n: [0, size]}"] if chooses else []
        parts += [f'when: "{self.condition(scope, 1)}"'] if chance.random() < 0.4 else []
        parts += [f"fire: {{{', '.join(f'{who}: {events}' for who, events in fired.items())}}}"]
        values = ", ".join(f'{target}: "{value}"' for target, value in settings.items())
        parts += [f"set: {{{values}}}"] if values else []
        return f"{{{', '.join(parts)}}}"

    def participant(self, scope: dict[str, str]) -> str:
        match self.chance.choice(("path", "path", "path", "all", "where")):
            case "all":
                return f"all {self.chance.choice(PARTS)}"
            case "where":
                reference = self.chance.choice(sorted(REFERENCES))
                return f"{self.chance.choice(PARTS)} where {reference} == {self.path(scope, REFERENCES[reference])}"
        return self.path(scope)

    def value(self, scope: dict[str, str], path: str, variable: str, chooses: bool) -> str:
        pick = self.chance.choice
        if variable in REFERENCES:
            return pick(("none", self.path(scope, REFERENCES[variable]), self.path(scope, REFERENCES[variable])))
        if variable == "hue":
            return pick(("red", "green", "blue", f"{path}.hue"))
        if variable == "flag":
            return pick(("true", "false", f"not {path}.flag", self.condition(scope, 0)))
        other = self.path(scope)
        options = ("0", "1", f"{path}.{variable} + 1", f"{other}.num", f"{other}.turn - 1")
        return pick((*options, "n", "n // 2") if chooses else options)
