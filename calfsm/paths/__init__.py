"""Test suites from the specs: generated, stored as JSON Lines, and run against any implementation."""

from calfsm.engine.table import Refused
from calfsm.paths.run import Implementation, Report, run_suite
from calfsm.paths.suite import BadSuite, Suite, SuiteStep, World, load

__all__ = ["BadSuite", "Implementation", "Refused", "Report", "Suite", "SuiteStep", "World", "load", "run_suite"]
