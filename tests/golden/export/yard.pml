/*
 * yard: A yard with taps, hoses and one lock. It has something of everything.
 * Written by `calfsm export` from the spec with digest b63802e89e011769.
 *
 * SPIN stores one state for each state of the system. Its transitions are the calls that are taken in each of them, those
 * that change nothing included, and one for the start. A state that breaks a property has one transition more for each
 * that it breaks, and is never stuck; with -DCALLS_ONLY there are no properties.
 *
 *   spin -a FILE && cc -O2 -DSAFETY -DNOREDUCE -o pan pan.c
 *   ./pan -m1000000 -E -c0     counts, and names the broken properties
 *   ./pan -m1000000            with -DCALLS_ONLY given to spin: counts, and finds a stuck state (an invalid end state)
 */

#define NONE (-1)
#define MOST 2
#define WIDTH 1
#define RULE_ 2

/* lock */
mtype:lock_state = {
  lock_OPEN,
  lock_SHUT
};
typedef lock_record {
  mtype:lock_state state = lock_OPEN
};

/* tap: One tap. What stands here must not end the comment: * / / * -- \ " é */
mtype:tap_state = {
  tap_OFF,  /* Nothing comes out. */
  tap_DO,  /* Water runs. */
  tap_TIMEOUT  /* It is washed. */
};
#define tap_type_COLD 0
#define tap_type_HOT 1
typedef tap_record {
  mtype:tap_state state = tap_OFF;
  byte type_ = tap_type_COLD;  /* What comes out. */
  byte level = 0;  /* How far it is open. */
  byte last = 0;  /* How far it was open before. */
  bool dirty = 0;
  byte phase = 0;
  short hose = NONE
};

/* hose */
mtype:hose_state = {
  hose_LOOSE,
  hose_ACTIVE
};
typedef hose_record {
  mtype:hose_state state = hose_LOOSE;
  short tap = NONE;
  short lock_ = NONE
};

/* meter */
mtype:meter_state = {
  meter_QUIET,
  meter_RUNNING
};
typedef meter_record {
  mtype:meter_state state = meter_QUIET;
  byte seen = 0
};

lock_record lock[1];
tap_record taps[1];  /* Along the wall. */
hose_record hoses[2];
meter_record meters[1];

hidden int found_1;
hidden int next_1;
hidden int value_2;
hidden int there_1;
hidden int there_2;
hidden byte always_done;
hidden byte always_no_loop;
hidden byte always_meters_run;

#define tap_takes_open(IT) ((IT.state == tap_OFF && !IT.dirty) || IT.state == tap_DO)

inline tap_open(IT) {  /* Open it, or open it further. */
  if
  :: IT.state == tap_OFF && !IT.dirty -> IT.level = 1; IT.phase = ((((IT.phase - 1) % 3) + 3) % 3); IT.state = tap_DO
  :: IT.state == tap_DO && IT.level < MOST -> IT.last = IT.level; IT.level = (IT.level + 1)  /* stays: It is as far open as it goes. */
  :: IT.state == tap_DO && !(IT.level < MOST) -> IT.dirty = 1  /* stays: It is as far open as it goes. */
  :: else
  fi
}

inline meter_start(IT) {
  if
  :: IT.state == meter_QUIET -> IT.state = meter_RUNNING
  :: else  /* stays: It runs. */
  fi
}

#define hose_takes_attach(IT) (IT.state == hose_LOOSE)

inline hose_attach(IT) {
  if
  :: IT.state == hose_LOOSE -> IT.state = hose_ACTIVE
  :: else
  fi
}

#define tap_takes_swap_close(IT) (IT.state == tap_DO && (IT.last / 2) == 0)

inline tap_swap(IT) {  /* Back to how far it was open. */
  if
  :: IT.state == tap_DO && (IT.last / 2) == 0 -> next_1 = IT.level; IT.level = IT.last; IT.last = next_1
  :: else
  fi
}

inline tap_close(IT) {
  if
  :: IT.state == tap_DO -> IT.level = 0; IT.type_ = tap_type_HOT; IT.hose = NONE; IT.state = tap_OFF
  :: IT.state == tap_TIMEOUT -> IT.dirty = 0; IT.type_ = tap_type_COLD; IT.state = tap_OFF
  :: else  /* stays: It is closed. */
  fi
}

inline hose_detach(IT) {
  if
  :: IT.state == hose_ACTIVE -> IT.tap = NONE; IT.lock_ = NONE; IT.state = hose_LOOSE
  :: else  /* stays: It is loose. */
  fi
}

inline meter_stop(IT) {
  if
  :: IT.state == meter_RUNNING -> IT.state = meter_QUIET
  :: else  /* stays: It is quiet. */
  fi
}

inline tap_wash(IT) {
  if
  :: IT.state == tap_OFF -> IT.state = tap_TIMEOUT
  :: else  /* stays: Not now. */
  fi
}

inline lock_turn(IT) {
  if
  :: IT.state == lock_OPEN -> IT.state = lock_SHUT
  :: IT.state == lock_SHUT -> IT.state = lock_OPEN
  :: else
  fi
}

#define count_taps_1 (taps[0].state == tap_DO)

#define count_meters_2 (meters[0].state == meter_RUNNING)

#define holds_done ( \
     count_taps_1 <= WIDTH  /* running <= width */ \
)

#define holds_no_loop ( \
     !((hoses[0].state == hose_ACTIVE && (hoses[0].tap == 0 && taps[0].hose != 0)) || (hoses[1].state == hose_ACTIVE && (hoses[1].tap == 0 && taps[0].hose != 1)))  /* all(not any((h.tap == t) and (t.hose != h) for h in hoses if h is active) for t in taps) */ \
)

#define holds_meters_run ( \
     !(taps[0].state == tap_DO && !(taps[0].level == 0 || count_meters_2 > 0))  /* all((t.level == 0) or (count(m for m in meters if m is running) > 0) for t in taps if t is do) */ \
)

/* open, by engine: Open it, with or without a hose. */
#define can_open(T) ( \
     lock[0].state == lock_OPEN  /* lock is open */ \
  && (taps[T].hose == NONE || (taps[T].hose >= 0 && hoses[taps[T].hose].state == hose_ACTIVE))  /* (t.hose == none) or (t.hose is active) */ \
  && tap_takes_open(taps[T])  /* t: open */ \
)
inline do_open(T) {  /* effects: valve.open, client.tell */
  tap_open(taps[T]);  /* t: open */
  meter_start(meters[T])  /* t.meters: start */
}

/* attach, by engine */
#define can_attach(T, H) ( \
     !taps[T].dirty  /* not t.dirty */ \
  && taps[T].type_ == tap_type_COLD  /* t.type is cold */ \
  && hose_takes_attach(hoses[H])  /* h: attach */ \
)
inline do_attach(T, H) {
  hose_attach(hoses[H]);  /* h: attach */
  hoses[H].tap = T;  /* set h.tap */
  hoses[H].lock_ = 0;  /* set h.lock */
  taps[T].hose = H  /* set t.hose */
}

/* follow, by engine: A participant that references lead to. */
#define can_follow(H) ( \
     (hoses[H].tap >= 0 && taps[hoses[H].tap].hose == H)  /* h.tap.hose == h */ \
  && (hoses[H].tap >= 0 && (taps[hoses[H].tap].phase + 1) > 1)  /* (h.tap.phase + 1) > 1 */ \
  && (hoses[H].tap >= 0 && tap_takes_swap_close(taps[hoses[H].tap]))  /* h.tap: swap, close */ \
  && hoses[H].tap >= 0  /* h.tap.meters: stop */ \
  && hoses[H].tap >= 0  /* set h.tap.meters.seen */ \
)
inline do_follow(H) {
  found_1 = hoses[H].tap;  /* h.tap */
  value_2 = (taps[hoses[H].tap].level / 2);  /* h.tap.meters.seen */
  tap_swap(taps[found_1]); tap_close(taps[found_1]);  /* h.tap: swap, close */
  hose_detach(hoses[H]);  /* h: detach */
  meter_stop(meters[found_1]);  /* h.tap.meters: stop */
  meters[found_1].seen = value_2  /* set h.tap.meters.seen */
}

/* twice, by engine: One hose may be reached twice. */
#define can_twice(H, T) ( \
     true  /* h: detach; hoses where tap == t: detach, attach */ \
)
inline do_twice(H, T) {
  there_1 = hoses[0].tap == T;  /* hoses where tap == t */
  there_2 = hoses[1].tap == T;  /* hoses where tap == t */
  hose_detach(hoses[H]);  /* h: detach */
  if :: there_1 -> hose_detach(hoses[0]); hose_attach(hoses[0]) :: else fi;  /* hoses where tap == t: detach, attach */
  if :: there_2 -> hose_detach(hoses[1]); hose_attach(hoses[1]) :: else fi  /* hoses where tap == t: detach, attach */
}

/* measure, by runtime */
#define can_measure(M, BY_) ( \
     (BY_ - 1) >= 0  /* set m.seen */ \
)
inline do_measure(M, BY_) {
  meter_stop(meters[M]);  /* m: stop */
  meters[M].seen = (BY_ - 1)  /* set m.seen */
}

/* wash, by clock */
#define can_wash(T) ( \
     true  /* t: wash */ \
)
inline do_wash(T) {
  tap_wash(taps[T])  /* t: wash */
}

/* shut, by client */
#define can_shut ( \
     taps[0].state != tap_DO  /* running == 0 */ \
  && lock[0].state == lock_OPEN  /* lock is open */ \
)
inline do_shut() {
  lock_turn(lock[0]);  /* lock: turn */
  hose_detach(hoses[0]);  /* all hoses: detach */
  hose_detach(hoses[1])  /* all hoses: detach */
}

/* dry, by client */
#define can_dry ( \
     lock[0].state == lock_SHUT  /* lock is shut */ \
)
inline do_dry() {
  lock_turn(lock[0]);  /* lock: turn */
  tap_close(taps[0])  /* all taps: close */
}

active proctype system_yard() {
  do
#ifndef CALLS_ONLY
  :: d_step { !holds_done -> assert(always_done) }
  :: d_step { !holds_no_loop -> assert(always_no_loop) }
  :: d_step { !holds_meters_run -> assert(always_meters_run) }
#endif
  :: d_step { can_open(0) -> do_open(0) }
  :: d_step { can_attach(0, 0) -> do_attach(0, 0) }
  :: d_step { can_attach(0, 1) -> do_attach(0, 1) }
  :: d_step { can_follow(0) -> do_follow(0) }
  :: d_step { can_follow(1) -> do_follow(1) }
  :: d_step { can_twice(0, 0) -> do_twice(0, 0) }
  :: d_step { can_twice(1, 0) -> do_twice(1, 0) }
  :: d_step { can_measure(0, 0) -> do_measure(0, 0) }
  :: d_step { can_measure(0, 1) -> do_measure(0, 1) }
  :: d_step { can_measure(0, 2) -> do_measure(0, 2) }
  :: d_step { can_wash(0) -> do_wash(0) }
  :: d_step { can_shut -> do_shut() }
  :: d_step { can_dry -> do_dry() }
  od
}
