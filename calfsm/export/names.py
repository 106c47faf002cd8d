"""Names in the models: the spec's own, as far as the other language lets one use them.

A spec's names are lower-case letters, digits and `_`. One that is a word of Promela, of Murphi, of C (SPIN makes C of a
model), of the C that SPIN writes or of its preprocessor, or that is taken already, gets `_` at its end, as often as
needed. So every name is good, no two things share one, and nothing else of a user's text is outside a comment.
"""

from __future__ import annotations

_PROMELA = """
    active always assert atomic bit bool break byte c_code c_decl c_expr c_state c_track chan cond_expr
    d_proctype d_step do else empty enabled equivalent eval eventually false fi for full get_priority goto
    hidden if implies in init inline int len local ltl mtype nempty never next nfull notrace np_ od of
    pc_value pid print printf printm priority proctype provided release return run select set_priority short
    show skip stdin stronguntil timeout trace true typedef unless unsigned until weakuntil xr xs
"""
_MURPHI = """
    alias array assert assume begin boolean by case clear const cover do else elsif end endalias endexists
    endfor endforall endfunction endif endprocedure endrecord endrule endruleset endstartstate endswitch
    endwhile enum error exists false finishstate for forall function if in interleaved invariant ismember
    isundefined liveness multiset multisetadd multisetcount multisetremove multisetremovepred of offset
    procedure process program put real record return rule ruleset scalarset startstate switch then to
    traceuntil true type undefine undefined union var while
"""
_C = """
    asm auto break case char const continue default do double else enum extern float for goto i386 if inline
    int linux long mips register restrict return short signed sizeof static struct sun switch typedef typeof
    union unix unsigned vax void volatile while
"""
_PAN = """
    cas final getframe iam_alive main max mix now onstack_now onstack_put onstack_zap pan pptr q_sz qptr rand
    rot tri trpt uchar uint ulong ushort wasnew
"""

RESERVED = frozenset(f"{_PROMELA} {_MURPHI} {_C} {_PAN}".split())
"""Words that no name may be, whatever their case."""


class Names:
    """Names given so far, in one scope; what is taken in a scope around it is taken here."""

    def __init__(self, around: Names | None = None) -> None:
        self._around = around
        self._taken: set[str] = set(around._taken) if around else set()
        self._inside: set[str] = set()

    def claim(self, wanted: str) -> str:
        """`wanted`, or the nearest name to it that is good and free; from now on it is taken."""
        name = wanted
        while name.lower() in RESERVED or name in self._taken or name in self._inside:
            name += "_"
        self._taken.add(name)
        if self._around is not None:
            self._around._inside.add(name)
        return name

    def inner(self) -> Names:
        """Names of a scope inside this one. Scopes beside each other may share names, but none with this one."""
        return Names(self)


def comment(text: str) -> str:
    """A user's text on one line that neither begins nor ends a comment."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line.replace("*/", "* /").replace("/*", "/ *")
