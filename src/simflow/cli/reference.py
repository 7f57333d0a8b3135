"""The reference of commands, made from the commands: `python -m simflow.cli.reference > docs/commands.md`."""

from __future__ import annotations

from collections.abc import Iterator

import click

from simflow.cli.app import app

HEAD = """# Commands

Made by `python -m simflow.cli.reference`; a test compares this page with the commands.

stdout is data, stderr is words. Exit codes: 0 fine, 1 a run or a check failed, 2 bad input, 3 an endpoint failed, 130 interrupted.
`SIMFLOW_HOME` names the state folder for all commands, `SIMFLOW_CORPORA` the folder of real data, `SIMFLOW_DEBUG=1` shows tracebacks.
"""


def page() -> str:
    """The whole page, as Markdown."""
    parts = [HEAD]
    for path, command in commands(app, ("simflow",)):
        parts.append(f"## {' '.join(path)}\n\n{' '.join((command.help or '').split())}\n")
        usage = [parameter.make_metavar(click.Context(command)) for parameter in command.params if isinstance(parameter, click.Argument)]
        parts.append(f"```\n{' '.join([*path, '[OPTIONS]', *usage])}\n```\n")
        if rows := list(options(command)):
            parts.append("\n".join(["| option | meaning |", "|---|---|", *rows]) + "\n")
    return "\n".join(parts)


def commands(group: click.Group, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Each command with its path, groups opened."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        elif command is not None and not command.hidden:
            yield (*path, name), command


def options(command: click.Command) -> Iterator[str]:
    """Table rows of a command's options."""
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            record = parameter.get_help_record(click.Context(command))
            if record:
                names, about = (" ".join(text.split()).replace("|", r"\|") for text in record)
                yield f"| `{names}` | {about} |"


if __name__ == "__main__":
    click.echo(page(), nl=False)
