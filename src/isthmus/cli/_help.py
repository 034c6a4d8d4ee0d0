"""How help is written: the line about a command is never cut off."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup


class WholeLines(TyperGroup):
    """A group of commands whose help shows each command's first paragraph whole."""

    def lines(self) -> list[tuple[str, str]]:
        """Name and line of every command."""
        shown = [(name, command) for name, command in self.commands.items() if not command.hidden]
        return [(name, " ".join((command.help or "").partition("\n\n")[0].split())) for name, command in shown]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The list of commands in the help."""
        with formatter.section("Commands"):
            formatter.write_dl(self.lines())
