"""Lifecycles of an LLM serving stack on an NPU: specified, checked, explored, drawn and run from one source."""

__version__ = "0.1.0"
