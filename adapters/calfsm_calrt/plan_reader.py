"""Reading a fault plan from YAML, keeping the place of every value.

Keys and values are taken from YAML nodes and not from loaded data: there `on` would be a boolean, and of two equal keys
the last would win without a word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import attrs
import cattrs
import yaml

from .faults import BadPlan, Fault, FaultPlan, Problem, nearest

_FIELDS = tuple(field.name for field in attrs.fields(Fault))
_WORDS = {str: "a word", int: "a whole number", float: "a number", bool: "true or false"}


def read_faults(text: str, name: str) -> FaultPlan:
    """The plan in `text`. Raises BadPlan with everything that is wrong, each as `name:line:column`."""
    return _Reader(name).read(text)


class _Reader:
    def __init__(self, name: str) -> None:
        self.name = name
        self.problems: list[Problem] = []

    def read(self, text: str) -> FaultPlan:
        items = self._items(text)
        faults = [fault for item in items if (fault := self._fault(item)) is not None]
        if self.problems:
            raise BadPlan(self.problems)
        try:
            return FaultPlan(tuple(faults))
        except BadPlan as bad:
            places = [self._place(item.start_mark) for item in items]
            raise BadPlan(attrs.evolve(p, place=places[p.index or 0]) for p in bad.problems) from None

    def _items(self, text: str) -> list[Any]:
        try:
            root = _compose(text, Loader=yaml.SafeLoader)
        except RecursionError:
            self._say(None, "too-deep", "the text is nested too deeply", "a plan is a list of small mappings")
            return []
        except yaml.YAMLError as broken:
            mark = getattr(broken, "problem_mark", None)
            said = getattr(broken, "problem", None) or str(broken).splitlines()[0]
            self._say(mark, "not-yaml", f"this is not YAML: {said}", "correct the text here")
            return []
        if not isinstance(root, yaml.MappingNode):
            mark = None if root is None else root.start_mark
            self._say(mark, "wrong-shape", "a plan is a mapping with `faults`", "write `faults:` and a list below it")
            return []
        keys = self._mapping(root, ("faults", "doc"))
        faults = keys.get("faults")
        if not isinstance(faults, yaml.SequenceNode):
            mark = root.start_mark if faults is None else faults.start_mark
            self._say(mark, "wrong-shape", "`faults` must be a list", "write `faults: []` for none")
            return []
        return list(faults.value)

    def _fault(self, node: Any) -> Fault | None:
        if not isinstance(node, yaml.MappingNode):
            way_out = "write {on: <operation>, fault: <fault>}"
            self._say(node.start_mark, "wrong-shape", "a fault is a mapping", way_out)
            return None
        before = len(self.problems)
        nodes = self._mapping(node, _FIELDS)
        data = {key: self._scalar(key, value) for key, value in nodes.items()}
        if len(self.problems) > before:
            return None
        try:
            return _CONVERTER.structure(data, Fault)
        except cattrs.ClassValidationError as errors:
            for problem in _told(errors):
                mark = (nodes.get(problem.field) or node).start_mark
                self.problems.append(attrs.evolve(problem, place=self._place(mark)))
            return None

    def _mapping(self, node: Any, known: tuple[str, ...]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in node.value:
            word = str(key.value)
            if not isinstance(key, yaml.ScalarNode) or word not in known:
                shown = word if isinstance(key, yaml.ScalarNode) else "a collection"
                self._say(key.start_mark, "unknown-key", f"`{shown}` is not a key here", nearest(shown, known))
            elif word in found:
                self._say(key.start_mark, "duplicate-key", f"`{word}` is said twice", "keep one of them")
            else:
                found[word] = value
        return found

    def _scalar(self, key: str, node: Any) -> object:
        if not isinstance(node, yaml.ScalarNode):
            self._say(node.start_mark, "bad-value", f"`{key}` is a collection", "write a single value")
            return None
        if not node.value:
            self._say(node.start_mark, "bad-value", f"`{key}` is empty", "write a value, or leave the key out")
            return None
        try:
            return _SCALARS[node.tag](node.value)
        except (KeyError, ValueError):
            way_out = "write a plain word, a decimal number, or true or false"
            self._say(node.start_mark, "bad-value", f"`{key}` cannot be read from `{node.value}`", way_out)
            return None

    def _say(self, mark: Any, code: str, what: str, way_out: str) -> None:
        self.problems.append(Problem(code, what, way_out, place=self._place(mark)))

    def _place(self, mark: Any) -> str:
        return f"{self.name}:1:1" if mark is None else f"{self.name}:{mark.line + 1}:{mark.column + 1}"


class _WrongType(TypeError):
    def __init__(self, value: object, wanted: type) -> None:
        super().__init__(f"must be {_WORDS[wanted]}, not {value!r}")
        self.way_out = f"write {_WORDS[wanted]}{' without quotes' if isinstance(value, str) else ''}"


def _told(errors: BaseException) -> Iterable[Problem]:
    """What cattrs and Fault found wrong with one fault, in this project's words."""
    assert isinstance(errors, cattrs.ClassValidationError)
    noted, others = errors.group_exceptions()
    for error, note in noted:
        if isinstance(error, KeyError):
            yield Problem("missing-key", f"the fault has no `{note.name}`", f"write `{note.name}: …`", note.name)
        else:
            way_out = error.way_out if isinstance(error, _WrongType) else "write a plain value"
            yield Problem("bad-value", f"`{note.name}` {error}", way_out, note.name)
    for other in others:
        if not isinstance(other, BadPlan):
            raise other
        yield from other.problems


def _strict(value: object, wanted: type) -> object:
    # `bool` is an `int` to Python, but not to whoever writes a plan.
    fits = type(value) is wanted or (wanted is float and type(value) is int)
    if not fits:
        raise _WrongType(value, wanted)
    return float(value) if wanted is float and isinstance(value, int) else value


def _converter() -> cattrs.Converter:
    converter = cattrs.Converter(forbid_extra_keys=True, detailed_validation=True)
    for kind in _WORDS:
        converter.register_structure_hook(kind, _strict)
    return converter


def _boolean(word: str) -> bool:
    # YAML 1.1 takes `on`, `off`, `yes` and `no` for booleans too, which is seldom what was meant.
    return {"true": True, "false": False}[word.lower()]


_SCALARS: dict[str, Callable[[str], object]] = {
    "tag:yaml.org,2002:str": str,
    "tag:yaml.org,2002:int": int,
    "tag:yaml.org,2002:float": float,
    "tag:yaml.org,2002:bool": _boolean,
}
_CONVERTER = _converter()
_compose: Any = yaml.compose  # its stub has no types
