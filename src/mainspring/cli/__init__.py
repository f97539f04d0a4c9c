"""The command line: everything a person does with mainspring from a terminal."""

from mainspring.cli.main import main

__all__ = ["main"]
