-- yard: A yard with taps, hoses and one lock. It has something of everything.
-- Written by `calfsm export` from the spec with digest b63802e89e011769.
--
-- Rumur's states are those of the system, and the rules that it fires are the calls that are taken in each of them, those
-- that change nothing included. A state that breaks an invariant is an error, and what follows it is not looked at.
--
--   rumur --value-type int32_t --symmetry-reduction off --deadlock-detection stuck --output FILE.c FILE
--   cc -O2 -mcx16 -o checker FILE.c -lpthread && ./checker

const
  NONE: -1;
  MOST: 2;
  WIDTH: 1;
  RULE_: 2;
  tap_type_COLD: 0;
  tap_type_HOT: 1;

type
  lock_index: 0..0;
  lock_ref: NONE..0;
  taps_index: 0..0;  -- Along the wall.
  taps_ref: NONE..0;
  hoses_index: 0..1;
  hoses_ref: NONE..1;
  meters_index: 0..0;
  meters_ref: NONE..0;

  -- lock
  lock_state: enum {
    lock_OPEN,
    lock_SHUT
  };
  lock_record: record
    state: lock_state;
  end;

  -- tap: One tap. What stands here must not end the comment: * / / * -- \ " é
  tap_state: enum {
    tap_OFF,  -- Nothing comes out.
    tap_DO,  -- Water runs.
    tap_TIMEOUT  -- It is washed.
  };
  tap_record: record
    state: tap_state;
    type_: 0..1;  -- What comes out.
    level: 0..2;  -- How far it is open.
    last: 0..2;  -- How far it was open before.
    dirty: 0..1;
    phase: 0..2;
    hose: hoses_ref;
  end;

  -- hose
  hose_state: enum {
    hose_LOOSE,
    hose_ACTIVE
  };
  hose_record: record
    state: hose_state;
    tap: taps_ref;
    lock_: lock_ref;
  end;

  -- meter
  meter_state: enum {
    meter_QUIET,
    meter_RUNNING
  };
  meter_record: record
    state: meter_state;
    seen: 0..1;
  end;

var
  lock: array[lock_index] of lock_record;
  taps: array[taps_index] of tap_record;
  hoses: array[hoses_index] of hose_record;
  meters: array[meters_index] of meter_record;

function tap_takes_open(it: tap_record): boolean;
begin
  switch it.state
  case tap_OFF: return !(it.dirty != 0);
  case tap_DO: return true;
  end;
  return false;
end;

-- Open it, or open it further.
procedure tap_open(var it: tap_record);
begin
  switch it.state
  case tap_OFF:
    it.level := 1;
    it.phase := ((((it.phase - 1) % 3) + 3) % 3);
    it.state := tap_DO;
  case tap_DO:  -- stays: It is as far open as it goes.
    if it.level < MOST then
      it.last := it.level;
      it.level := (it.level + 1);
    else
      it.dirty := 1;
    end;
  end;
end;

procedure meter_start(var it: meter_record);
begin
  switch it.state
  case meter_QUIET:
    it.state := meter_RUNNING;
  case meter_RUNNING:  -- stays: It runs.
  end;
end;

function hose_takes_attach(it: hose_record): boolean;
begin
  switch it.state
  case hose_LOOSE: return true;
  end;
  return false;
end;

procedure hose_attach(var it: hose_record);
begin
  switch it.state
  case hose_LOOSE:
    it.state := hose_ACTIVE;
  end;
end;

function tap_takes_swap(it: tap_record): boolean;
begin
  switch it.state
  case tap_DO: return (it.last / 2) = 0;
  end;
  return false;
end;

-- Back to how far it was open.
procedure tap_swap(var it: tap_record);
var next_: 0..2;
begin
  switch it.state
  case tap_DO:
    next_ := it.level;
    it.level := it.last;
    it.last := next_;
  end;
end;

function tap_takes_swap_close(it: tap_record): boolean;
var after: tap_record;
begin
  after := it;
  if !tap_takes_swap(after) then return false; end;
  tap_swap(after);
  return true;
end;

procedure tap_close(var it: tap_record);
begin
  switch it.state
  case tap_OFF:  -- stays: It is closed.
  case tap_DO:
    it.level := 0;
    it.type_ := tap_type_HOT;
    it.hose := NONE;
    it.state := tap_OFF;
  case tap_TIMEOUT:
    it.dirty := 0;
    it.type_ := tap_type_COLD;
    it.state := tap_OFF;
  end;
end;

procedure hose_detach(var it: hose_record);
begin
  switch it.state
  case hose_LOOSE:  -- stays: It is loose.
  case hose_ACTIVE:
    it.tap := NONE;
    it.lock_ := NONE;
    it.state := hose_LOOSE;
  end;
end;

procedure meter_stop(var it: meter_record);
begin
  switch it.state
  case meter_QUIET:  -- stays: It is quiet.
  case meter_RUNNING:
    it.state := meter_QUIET;
  end;
end;

function hose_takes_detach_detach_attach(it: hose_record): boolean;
var after: hose_record;
begin
  after := it;
  hose_detach(after);
  hose_detach(after);
  return hose_takes_attach(after);
end;

function hose_takes_detach_attach(it: hose_record): boolean;
var after: hose_record;
begin
  after := it;
  hose_detach(after);
  return hose_takes_attach(after);
end;

procedure tap_wash(var it: tap_record);
begin
  switch it.state
  case tap_OFF:
    it.state := tap_TIMEOUT;
  case tap_DO, tap_TIMEOUT:  -- stays: Not now.
  end;
end;

procedure lock_turn(var it: lock_record);
begin
  switch it.state
  case lock_OPEN:
    it.state := lock_SHUT;
  case lock_SHUT:
    it.state := lock_OPEN;
  end;
end;

function count_taps_1(): 0..1;
var number: 0..1;
begin
  number := 0;
  for x_taps: taps_index do
    if taps[x_taps].state = tap_DO then number := number + 1; end;
  end;
  return number;
end;

function count_meters_2(): 0..1;
var number: 0..1;
begin
  number := 0;
  for x_meters_1: meters_index do
    if meters[x_meters_1].state = meter_RUNNING then number := number + 1; end;
  end;
  return number;
end;

startstate "start"
begin
  for x_lock: lock_index do
    lock[x_lock].state := lock_OPEN;
  end;
  for x_taps: taps_index do
    taps[x_taps].state := tap_OFF;
    taps[x_taps].type_ := tap_type_COLD;
    taps[x_taps].level := 0;
    taps[x_taps].last := 0;
    taps[x_taps].dirty := 0;
    taps[x_taps].phase := 0;
    taps[x_taps].hose := NONE;
  end;
  for x_hoses: hoses_index do
    hoses[x_hoses].state := hose_LOOSE;
    hoses[x_hoses].tap := NONE;
    hoses[x_hoses].lock_ := NONE;
  end;
  for x_meters: meters_index do
    meters[x_meters].state := meter_QUIET;
    meters[x_meters].seen := 0;
  end;
end;

-- open, by engine: Open it, with or without a hose.
-- effects: valve.open, client.tell
ruleset t: taps_index do
rule "open"
    lock[0].state = lock_OPEN  -- lock is open
  & (taps[t].hose = NONE | (taps[t].hose >= 0 & hoses[taps[t].hose].state = hose_ACTIVE))  -- (t.hose == none) or (t.hose is active)
  & tap_takes_open(taps[t])  -- t: open
==>
begin
  -- t: open
  tap_open(taps[t]);
  -- t.meters: start
  meter_start(meters[t]);
end;
end;

-- attach, by engine
ruleset t: taps_index; h: hoses_index do
rule "attach"
    !(taps[t].dirty != 0)  -- not t.dirty
  & taps[t].type_ = tap_type_COLD  -- t.type is cold
  & hose_takes_attach(hoses[h])  -- h: attach
==>
begin
  -- h: attach
  hose_attach(hoses[h]);
  hoses[h].tap := t;  -- set h.tap
  hoses[h].lock_ := 0;  -- set h.lock
  taps[t].hose := h;  -- set t.hose
end;
end;

-- follow, by engine: A participant that references lead to.
ruleset h: hoses_index do
rule "follow"
    (hoses[h].tap >= 0 & taps[hoses[h].tap].hose = h)  -- h.tap.hose == h
  & (hoses[h].tap >= 0 & (taps[hoses[h].tap].phase + 1) > 1)  -- (h.tap.phase + 1) > 1
  & (hoses[h].tap >= 0 & tap_takes_swap_close(taps[hoses[h].tap]))  -- h.tap: swap, close
  & hoses[h].tap >= 0  -- h.tap.meters: stop
  & hoses[h].tap >= 0  -- set h.tap.meters.seen
==>
var found_1: taps_ref;
var value_2: 0..1;
begin
  found_1 := hoses[h].tap;  -- h.tap
  value_2 := (taps[hoses[h].tap].level / 2);  -- h.tap.meters.seen
  -- h.tap: swap, close
  tap_swap(taps[found_1]);
  tap_close(taps[found_1]);
  -- h: detach
  hose_detach(hoses[h]);
  -- h.tap.meters: stop
  meter_stop(meters[found_1]);
  meters[found_1].seen := value_2;  -- set h.tap.meters.seen
end;
end;

-- twice, by engine: One hose may be reached twice.
ruleset h: hoses_index; t: taps_index do
rule "twice"
    (forall x_hoses: hoses_index do hoses[x_hoses].tap = t -> ((x_hoses = h -> hose_takes_detach_detach_attach(hoses[x_hoses])) & (!(x_hoses = h) -> hose_takes_detach_attach(hoses[x_hoses]))) end)  -- hoses where tap == t: detach, attach
==>
var there_1: array[hoses_index] of boolean;
begin
  for x_hoses: hoses_index do there_1[x_hoses] := hoses[x_hoses].tap = t; end;  -- hoses where tap == t
  -- h: detach
  hose_detach(hoses[h]);
  -- hoses where tap == t: detach, attach
  for x_hoses: hoses_index do
    if there_1[x_hoses] then hose_detach(hoses[x_hoses]); hose_attach(hoses[x_hoses]); end;
  end;
end;
end;

-- measure, by runtime
ruleset m: meters_index; by_: 0..2 do
rule "measure"
    (by_ - 1) >= 0  -- set m.seen
==>
begin
  -- m: stop
  meter_stop(meters[m]);
  meters[m].seen := (by_ - 1);  -- set m.seen
end;
end;

-- wash, by clock
ruleset t: taps_index do
rule "wash"
    true  -- t: wash
==>
begin
  -- t: wash
  tap_wash(taps[t]);
end;
end;

-- shut, by client
rule "shut"
    (forall x_taps: taps_index do taps[x_taps].state != tap_DO end)  -- running == 0
  & lock[0].state = lock_OPEN  -- lock is open
==>
begin
  -- lock: turn
  lock_turn(lock[0]);
  -- all hoses: detach
  for x_hoses: hoses_index do
    hose_detach(hoses[x_hoses]);
  end;
end;

-- dry, by client
rule "dry"
    lock[0].state = lock_SHUT  -- lock is shut
==>
begin
  -- lock: turn
  lock_turn(lock[0]);
  -- all taps: close
  for x_taps: taps_index do
    tap_close(taps[x_taps]);
  end;
end;

-- running <= width
invariant "done"
  count_taps_1() <= WIDTH;

-- all(not any((h.tap == t) and (t.hose != h) for h in hoses if h is active) for t in taps)
invariant "no_loop"
  forall x_taps: taps_index do !(exists x_hoses_1: hoses_index do hoses[x_hoses_1].state = hose_ACTIVE & (hoses[x_hoses_1].tap = x_taps & taps[x_taps].hose != x_hoses_1) end) end;

-- all((t.level == 0) or (count(m for m in meters if m is running) > 0) for t in taps if t is do)
invariant "meters_run"
  forall x_taps: taps_index do taps[x_taps].state = tap_DO -> (taps[x_taps].level = 0 | count_meters_2() > 0) end;
