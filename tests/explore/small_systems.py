"""Small systems written by hand: between them, everything that the language has."""

from __future__ import annotations

WORKER = """
machine: worker
params: {most: {serves: 3, explores: 3}}
vars:
  load:  {int: [0, most]}
  low:   {int: [-2, 1], initial: -2}
  hue:   {enum: [red, green, blue], initial: green}
  turn:  {cycle: 3}
  tired: {bool: false}
  desk:  {ref: desks}
states:
  idle:  {initial: true}
  busy:  {}
  over:  {outcome: true}
events:
  sit:   {by: engine}
  work:  {by: engine}
  rest:  {by: engine}
  flash: {by: engine}
transitions:
  idle:
    sit:   busy
    rest:  {stay: It rests already., set: {tired: false}}
    flash: {stay: Nothing to see.}
  busy:
    work:
      - {when: load < most, to: busy, set: {load: load + 1, turn: turn + 1}}
      - {else: true, to: over, set: {load: 0, low: (low + 1) % 2, tired: true}}
    rest:  {to: idle, when: not tired, set: {turn: turn - 1, desk: none}}
    flash: {to: busy, set: {hue: red}}
  over:
    rest:  {to: idle, set: {hue: blue, desk: none, tired: false}}
    flash: {to: over, when: hue is not red, set: {turn: turn * 2}}
"""

DESK = """
machine: desk
vars:
  owner: {ref: workers}
  next:  {ref: desks}
states:
  free:  {initial: true}
  taken: {}
events:
  take:  {by: engine}
  leave: {by: engine}
transitions:
  free:  {take: taken, leave: {stay: Nobody sits there.}}
  taken: {leave: {to: free, set: {owner: none}}}
"""

LAMP = """
machine: lamp
states:
  dark: {initial: true}
  lit:  {}
events:
  turn: {by: engine}
  out:  {by: engine}
transitions:
  dark: {turn: lit, out: {stay: It is dark.}}
  lit:  {turn: dark, out: dark}
"""

OFFICE = """
system: office
params: {people: {serves: 9, explores: 2}, places: {serves: 4, explores: 2}}
parts:
  workers: {machine: worker, count: people}
  desks:   {machine: desk, count: places}
  lamps:   {machine: lamp, per: desks}
  hall:    {machine: lamp}
define:
  seated: count(w for w in workers if w is busy)
  dark:   all(l is dark for l in lamps) and hall is dark
actions:
  arrive:
    by: client
    pick: {w: workers, d: desks}
    when: seated < 2 and w.desk == none
    fire: {w: sit, d: take, d.lamps: turn}
    set: {w.desk: d, d.owner: w}
  chain:
    by: engine
    pick: {d: desks, e: desks}
    when: "d != e and e.next != d"
    fire: {d.lamps: out}
    set: {d.next: e}
  unchain:
    by: engine
    pick: {d: desks}
    when: d.next.next != none or d.next.owner is over
    fire: {d.next.lamps: [turn, out]}
    set: {d.next: none}
  work:
    by: engine
    pick: {w: workers}
    choose: {n: [0, 2]}
    when: "w is busy and (w.turn == n or w.desk.lamps is lit)"
    fire: {w: work}
  overtime:
    by: engine
    pick: {w: workers}
    when: not dark and count(x for x in workers if x.load > w.load) == 0
    fire: {w: [work, work]}
  go_home:
    by: client
    pick: {w: workers}
    when: "w.desk.owner == w"
    fire: {w.desk: leave, w: rest, w.desk.lamps: out}
  clean:
    by: engine
    pick: {d: desks}
    fire: {d: leave, workers where desk == d: [flash, rest], all lamps: out, hall: turn}
  alarm: {by: runtime, when: hall is lit, fire: {all workers: flash, hall: out}}
  repaint:
    by: engine
    pick: {w: workers}
    choose: {n: [0, most]}
    when: "w.hue in {green, blue} and n + w.load <= most and n > 0"
    fire: {hall: out}
    set: {w.load: w.load + n, w.hue: red}
  count_down:
    by: clock
    pick: {w: workers}
    fire: {hall: turn, w: rest}
    set: {w.low: w.low - 1}
always:
  two_at_most: seated <= 2
  desks_are_shared: "all(d.owner.desk == d for d in desks if d is taken)"
  never_all_red: "not all(w.hue is red for w in workers)"
  loads_differ: "all(count(x for x in workers if x.load == w.load) < 2 for w in workers if w is over)"
  lamps_are_seen: "all(d.owner != none for d in desks if d.lamps is lit)"
"""

CLOCKWORK = """
machine: clockwork
params: {last: {serves: 9, explores: 9}}
vars: {at: {int: [0, last]}}
states:
  wound: {initial: true}
  run_down: {}
events: {tick: {by: engine}, sigh: {by: engine}}
transitions:
  wound:
    tick: [{when: at < last, to: wound, set: {at: at + 1}}, {else: true, to: run_down}]
    sigh: {stay: It sighs.}
"""

CLOCKS = """
system: clocks
parts: {left: {machine: clockwork}, right: {machine: clockwork}}
actions:
  tick_left:  {by: engine, fire: {left: tick}}
  tick_right: {by: engine, fire: {right: tick}}
  sigh:       {by: engine, fire: {left: sigh, right: sigh}}
always:
  not_both_late: not (left.at + right.at > 12)
"""
