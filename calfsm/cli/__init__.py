"""The command line: one thin module a command, listed in `main`; what they have in common is in `manners`."""
