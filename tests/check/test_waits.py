"""What a state that awaits someone has to decide itself."""

from __future__ import annotations

from calfsm.check import check_machine
from calfsm.spec.model import MachineSpec
from calfsm.spec.read import read_spec_text

JOB = """\
machine: job
states:
  vacant:     {initial: true}
  queued:     {}
  submitted:  {awaits: runtime, deadline: {after: patience, event: late}}
  abandoned:  {awaits: runtime, deadline: {after: patience, event: late}, doc: Behind a cancel.}
  completing: {}
events:
  admit:   {by: client}
  submit:  {by: engine}
  done:    {by: runtime}
  accept:  {by: engine}
  late:    {by: clock}
  cancel:  {by: client}
  reset:   {by: recovery}
  rebuilt: {by: recovery}
transitions:
  vacant: {admit: queued}
  queued:
    submit: submitted
    cancel: vacant
    reset:  {stay: The device has not seen it.}
  submitted:
    done:   completing
    late:   vacant
    cancel: abandoned
    reset:  vacant
  abandoned:
    done:  vacant
    late:  vacant
    reset: vacant
  completing:
    accept:  vacant
    rebuilt: vacant
anywhere:
  admit:   {stay: It is taken.}
  done:    {stay: It has ended.}
  late:    {stay: Nothing is awaited.}
  cancel:  {stay: There is nothing to cancel.}
  reset:   {stay: The device has nothing of it.}
  rebuilt: {stay: Nothing was broken.}
"""


def job(*replacements: tuple[str, str]) -> MachineSpec:
    text = JOB
    for old, new in replacements:
        assert text.count(old) == 1
        text = text.replace(old, new)
    reading = read_spec_text(text, "job.yaml")
    assert reading.findings == ()
    assert isinstance(reading.spec, MachineSpec)
    return reading.spec


def messages(spec: MachineSpec) -> list[str]:
    return [finding.message for finding in check_machine(spec)]


def test_a_job_that_decides_everything_is_sound():
    assert messages(job()) == []


def test_a_wait_that_forgets_a_reset_is_found():
    spec = job(("    cancel: abandoned\n    reset:  vacant\n", "    cancel: abandoned\n"))
    assert messages(spec) == ["`submitted` of job awaits the runtime and leaves `reset` to `anywhere`"]


def test_a_wait_that_forgets_what_the_state_before_it_decides_is_found():
    spec = job(("    cancel: abandoned\n", ""), ("    late:   vacant\n", "    late:   abandoned\n"))
    assert [state for state, row in spec.transitions.items() if "cancel" in row] == ["queued"]
    assert messages(spec) == ["`submitted` of job awaits the runtime and leaves `cancel` to `anywhere`"]


def test_a_wait_behind_a_cancel_may_leave_another_cancel_to_anywhere():
    assert "cancel" not in job().transitions["abandoned"]
    assert messages(job()) == []


def test_a_wait_behind_a_cancel_may_not_leave_a_reset_to_anywhere():
    spec = job(("    late:  vacant\n    reset: vacant\n", "    late:  vacant\n"))
    assert messages(spec) == ["`abandoned` of job awaits the runtime and leaves `reset` to `anywhere`"]


def test_an_event_that_only_one_state_answers_is_a_step_and_not_an_interruption():
    assert [state for state, row in job().transitions.items() if "rebuilt" in row] == ["completing"]
    assert messages(job()) == []


def test_an_anywhere_that_moves_decides_for_a_wait():
    spec = job(
        ("    cancel: abandoned\n    reset:  vacant\n", "    cancel: abandoned\n"),
        ("reset:   {stay: The device has nothing of it.}", "reset:   vacant"),
    )
    assert messages(spec) == ["`abandoned` answers `reset` as `anywhere` does"]


def test_a_wait_may_repeat_what_anywhere_says():
    spec = job(
        ("    late:  vacant\n    reset: vacant\n", "    late:  vacant\n    reset: {stay: The device forgot it.}\n"),
        ("reset:   {stay: The device has nothing of it.}", "reset:   {stay: The device forgot it.}"),
    )
    assert spec.transitions["abandoned"]["reset"] == spec.anywhere["reset"]
    assert messages(spec) == []


def test_a_state_that_awaits_nobody_need_not_repeat_what_anywhere_says():
    spec = job(("    accept:  vacant\n", "    accept:  vacant\n    cancel: {stay: There is nothing to cancel.}\n"))
    assert messages(spec) == ["`completing` answers `cancel` as `anywhere` does"]
