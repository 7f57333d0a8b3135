"""`simflow serve`: answer from memory over HTTP, read-only."""

from __future__ import annotations

import ipaddress
import os
from pathlib import Path

import click

from simflow.errors import BadInput
from simflow.runs import place

TOKEN_VARIABLE = "SIMFLOW_TOKEN"  # noqa: S105 - the name of a variable


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; another than this machine's needs a token.")
@click.option("--port", default=8765, show_default=True, type=click.IntRange(0, 65535), help="Port; 0 takes a free one.")
@click.option("--rate", default=20.0, show_default=True, type=click.FloatRange(min=0.1), help="Requests a second that one caller may make.")
@click.option("--home", "root", type=place, help="The .simflow folder, or s3://BUCKET/PREFIX; default: the nearest one upwards.")
def serve(host: str, port: int, rate: float, root: Path | None) -> None:
    """Answer recall, explain, search, entities, relations, neighborhood and persona questions about runs; /openapi.json describes them.

    The environment variable SIMFLOW_TOKEN holds the token that callers have to send.
    """
    import uvicorn

    from simflow.cli.serve_app import make_app
    from simflow.runs import home

    token = os.environ.get(TOKEN_VARIABLE) or None
    check(host, token)
    app = make_app(root or home(), token=token, rate=rate)
    config = uvicorn.Config(
        app, host=host, port=port, log_level="warning", access_log=False, limit_concurrency=64, timeout_keep_alive=5, server_header=False
    )
    server = uvicorn.Server(config)
    with config.bind_socket() as socket:
        shown = f"[{host}]" if ":" in host else host
        click.echo(f"http://{shown}:{socket.getsockname()[1]}/openapi.json", err=True)
        server.run(sockets=[socket])


def check(host: str, token: str | None) -> None:
    """Refuse to listen beyond this machine without a token of some length. Raises BadInput."""
    try:
        here = ipaddress.ip_address(host).is_loopback
    except ValueError:
        here = host == "localhost"
    if token is not None and len(token) < 16:
        raise BadInput(
            f"the token in {TOKEN_VARIABLE} has {len(token)} characters",
            hint="at least 16; python -c 'import secrets; print(secrets.token_urlsafe())'",
        )
    if not here and token is None:
        raise BadInput(f"listening on {host} lets others in: that needs a token", hint=f"set {TOKEN_VARIABLE}, or leave --host out")
