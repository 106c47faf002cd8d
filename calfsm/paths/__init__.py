"""Test suites from the specs: generated, stored as JSON Lines, and run against any implementation."""
