"""``subscape completion``: what a shell needs to complete commands, options and finders."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")

EPILOG = """\b
Switch it on for good:
  bash   echo 'eval "$(subscape completion bash)"' >> ~/.bashrc
  zsh    echo 'eval "$(subscape completion zsh)"' >> ~/.zshrc
  fish   subscape completion fish > ~/.config/fish/completions/subscape.fish
"""


@click.command(epilog=EPILOG)
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print a script that completes commands and options when you press the tab key."""
    from subscape.cli.main import cli

    made = get_completion_class(shell)
    if made is None:  # pragma: no cover - click has all three
        raise click.ClickException(f"this version of click has no completion for {shell}")
    # click's bash class runs bash to look at its version; the script is the same without.
    script = made.source_template % made(cli, {}, "subscape", "_SUBSCAPE_COMPLETE").source_vars()
    click.echo(script)
