"""`rrcollect demo`: see `server_agg.demo`."""
from __future__ import annotations
from argparse import ArgumentParser, Namespace
def add_demo(parser: ArgumentParser) -> None:
    pass
def demo(options: Namespace) -> int:
    return 0
