"""The command ``subscape`` and the table of its subcommands.

A subcommand is imported when it runs and not before: ``subscape --help`` loads neither NumPy nor
any subcommand. To add one, write a click command in a module of its own and name it in
:data:`COMMANDS`.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import click

from subscape.version import __version__

__all__ = ["COMMANDS", "Subcommand", "cli", "main"]


class Subcommand(NamedTuple):
    """Where a subcommand lives, and its line in ``subscape --help``."""

    place: str
    help: str


COMMANDS = {
    "alternatives": Subcommand(
        "subscape.cli.alternatives:alternatives", "Find groupings that differ from a known one."
    ),
    "choose": Subcommand("subscape.cli.choose:choose", "Choose a finder's parameters."),
    "compare": Subcommand("subscape.cli.compare:compare", "Say how different two clusterings are."),
    "completion": Subcommand(
        "subscape.cli.completion:completion", "Print a script for completion in your shell."
    ),
    "consensus": Subcommand("subscape.cli.consensus:consensus", "Merge many clusterings into one."),
    "convert": Subcommand("subscape.cli.convert:convert", "Write a clustering in another format."),
    "demo": Subcommand("subscape.cli.demo:demo", "Show the main job on generated data."),
    "explore": Subcommand("subscape.cli.explore:explore", "Find every honest grouping of a table."),
    "figures": Subcommand("subscape.cli.figures:figures", "Draw the pictures of a study."),
    "fit": Subcommand("subscape.cli.fit:fit", "Find the clusters of a table with one finder."),
    "man": Subcommand("subscape.cli.man:man", "Print the manual page."),
    "matrix": Subcommand("subscape.cli.matrix:matrix", "Compare every pair of many clusterings."),
    "predict": Subcommand(
        "subscape.cli.predict:predict", "Put new rows into the clusters of a study."
    ),
    "rename": Subcommand("subscape.cli.rename:rename", "Give clusters of a study names."),
    "validate": Subcommand(
        "subscape.cli.validate:validate", "Say whether clusters come back and beat chance."
    ),
}
"""The subcommands by name; ``place`` is ``"module:function"``."""

BAD_INPUT = 2
"""The exit code for input that cannot be used, the same as click's for bad options."""


class LazyGroup(click.Group):
    """A group that imports a subcommand only to run it, and answers bad input in one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the subcommands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a subcommand; None if there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        module, _, function = COMMANDS[cmd_name].place.partition(":")
        command: click.Command = getattr(importlib.import_module(module), function)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the subcommand; a name that is nearly one is answered with the one meant."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            from .inputs import suggestion

            raise click.UsageError(
                f"No such command {_harmless(name)!r}.{suggestion(name, COMMANDS)}", ctx
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the subcommands from the table, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name].help) for name in self.list_commands(ctx)])

    def main(self, args: Sequence[str] | None = None, *rest: Any, **options: Any) -> Any:
        """Run the command line; bad input ends in ``Error: …`` and exit code 2."""
        arguments = list(sys.argv[1:] if args is None else args)
        try:
            return super().main(arguments, *rest, **options)
        except (ValueError, TypeError, OSError, ImportError) as error:
            # Read from the arguments, because the fault may lie before click has parsed them. An
            # import that fails has the name of a module; one that says what to install has none.
            defect = isinstance(error, ImportError) and error.name is not None
            if "--traceback" in arguments or defect:
                raise
            _refuse(error, next((word for word in arguments if word in COMMANDS), ""))


def _refuse(error: Exception, command: str) -> NoReturn:
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        text = f"{error.filename}: {error.strerror}"
    else:
        from .wording import as_options

        text = as_options(str(error), command) or type(error).__name__
    click.echo(f"Error: {_harmless(text)}", err=True)
    sys.exit(BAD_INPUT)


def _harmless(text: str) -> str:
    """A message without the characters that steer a terminal."""
    return "".join(letter if letter.isprintable() or letter in "\n\t" else "�" for letter in text)


def _print_version(ctx: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    from subscape.arrays.backend import describe

    click.echo(f"subscape {__version__} (kernels: {describe()})")
    ctx.exit()


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="'subscape COMMAND --help' explains a command.",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and which kernels run, and exit.",
)
@click.option(
    "--traceback",
    is_flag=True,
    expose_value=False,
    help="Show where in the code an error arose.",
)
def cli() -> None:
    """Find, compare, validate and combine clusterings that live in subspaces."""


def main() -> None:
    """Run the command ``subscape``."""

    def show(message: Warning | str, *details: Any, **more: Any) -> None:
        click.echo(f"Warning: {_harmless(str(message))}", err=True)

    # A line of Subscape's source under a warning helps nobody at a command line.
    warnings.showwarning = show
    cli(prog_name="subscape")
