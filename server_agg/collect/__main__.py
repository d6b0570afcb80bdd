"""python -m server_agg.collect: run a collector; the owner's token comes from a file or RRCOLLECT_OWNER_TOKEN."""

from __future__ import annotations

import argparse
import sys

from rrcollect.errors import RRCollectError
from server_agg.collect.owner import OwnerToken
from server_agg.collect.serve import serve
from server_agg.collect.settings import Settings


def main(arguments: list[str] | None = None) -> int:
    """The command's exit status."""
    parser = argparse.ArgumentParser(prog="python -m server_agg.collect", description=__doc__)
    parser.add_argument("--store", default="rrcollect.sqlite3", help="a file, or a postgresql:// address")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--token-file", help="a file of mode 600 with the owner's token")
    parser.add_argument("--origin", action="append", default=[], help="a web origin that may send reports; repeatable")
    parser.add_argument("--minimum", type=int, default=30, help="answers a cell needs to be shown")
    parser.add_argument("--public-results", action="store_true", help="show results without the token")
    given = parser.parse_args(arguments)
    try:
        owner = OwnerToken.from_file(given.token_file) if given.token_file else OwnerToken.from_environment()
        settings = Settings(origins=tuple(given.origin), minimum=given.minimum, public_results=given.public_results)
        serve(given.store, host=given.host, port=given.port, owner=owner, settings=settings)
    except RRCollectError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
