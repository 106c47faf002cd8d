"""`python -m calfsm`: the command line."""

from calfsm.cli.main import run

if __name__ == "__main__":
    run()
