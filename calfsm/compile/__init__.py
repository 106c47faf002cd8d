"""Compiling: specs that passed their checks to tables and systems, and those to Python modules."""
