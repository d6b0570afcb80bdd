"""oTree's bots: `otree test doped`.  Every third of them has doped, the fourth of each five declines."""

import asyncio
import inspect
from typing import Any

from otree.api import Bot

from . import Ask


def truth(number: int) -> bool:
    """Of the participant with this number."""
    return number % 3 == 0


def reply(said: Any) -> Any:
    """What a live method returns: oTree 6.0 hands bots an asynchronous generator of it."""

    async def first() -> Any:
        return await anext(said)

    return asyncio.run(first()) if inspect.isasyncgen(said) else said


def call_live_method(method: Any, group: Any, **given: Any) -> None:
    """By oTree, once for all of a group."""
    for player in group.get_players():
        told = "decline" if player.id_in_group % 5 == 4 else truth(player.id_in_group)
        said = reply(method(player.id_in_group, told))
        assert list(said) == [player.id_in_group]
        assert ("declined" in said[player.id_in_group]) is (told == "decline")
        first = player.rr_doped
        reply(method(player.id_in_group, told))
        assert player.rr_doped == first  # asked again: the same report


class PlayerBot(Bot):
    """Goes through the one page."""

    def play_round(self) -> Any:
        yield Ask
        assert bool(self.player.rr_doped) is not self.player.declined
