"""Serving: the executor over the checked engine, its policy, the runtime protocol, and the virtual-time driver."""

from calfsm.engine.engine import ActionRefused
from calfsm.engine.system import Profile
from calfsm.serving.choice import Choice
from calfsm.serving.clock import VirtualClock
from calfsm.serving.executor import Executor
from calfsm.serving.policy import Policy
from calfsm.serving.runtime import Golden, Manifest, Runtime
from calfsm.serving.sequence import Outcome, Rejected, Request
from calfsm.serving.virtual import run

__all__ = [
    "ActionRefused",
    "Choice",
    "Executor",
    "Golden",
    "Manifest",
    "Outcome",
    "Policy",
    "Profile",
    "Rejected",
    "Request",
    "Runtime",
    "VirtualClock",
    "run",
]
