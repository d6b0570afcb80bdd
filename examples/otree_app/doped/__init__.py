"""For experimenters with oTree: one question whose answer is randomised before anything is saved.

Shows one ledger per participant, and how a truth reaches the server without becoming a field: a live message, which
oTree hands to `live_method` and does not save.  What is saved is the report, in the field `rr_doped`; in oTree's export
it is a column that `rrcollect tally --column` counts.  The server sees the truth for a moment, as in every web form.

    rrcollect keygen --out publisher.pem
    rrcollect publish survey.toml --key publisher.pem --out survey.json
    RRCOLLECT_KEY=… otree devserver              # 32 hexadecimal digits or more, from your secrets; it never changes
"""

import os
from pathlib import Path
from typing import Any

from otree.api import BaseConstants, BaseGroup, BasePlayer, BaseSubsession, Page, models

import rrcollect as rr

PROJECT = Path(__file__).resolve().parents[1]
ENVELOPE = (PROJECT / "survey.json").read_bytes()
PUBLISHER = rr.TrustedPublisher(
    "Example Institute", [rr.PublicKey.from_pem((PROJECT / "publisher.pem.pub").read_bytes())]
)
CLIENTS = rr.Clients(
    PROJECT / "ledgers",
    key=bytes.fromhex(os.environ["RRCOLLECT_KEY"]),
    attributes=["doped"],
    policy=rr.Policy([PUBLISHER]),
)


class C(BaseConstants):
    """oTree's constants."""

    NAME_IN_URL = "doped"
    PLAYERS_PER_GROUP = None
    NUM_ROUNDS = 1


class Subsession(BaseSubsession):
    """Nothing of its own."""


class Group(BaseGroup):
    """Nothing of its own."""


class Player(BasePlayer):
    """What oTree saves: the report, or that there is none because the participant declined."""

    rr_doped = models.LongStringField(blank=True)
    declined = models.BooleanField(initial=False)


def ledger(player: Player) -> rr.Client:
    """The ledger of a participant, by the label of a room (the same in the next session), or else by oTree's code."""
    return CLIENTS.of(player.participant.label or player.participant.code)


class Ask(Page):
    """The question; what was drawn is not shown."""

    @staticmethod
    def vars_for_template(player: Player) -> dict[str, Any]:
        accepted = ledger(player).accept(ENVELOPE)
        return {"question": accepted.survey.say(accepted.survey.questions[0].text), "explained": accepted.explain()}

    @staticmethod
    def live_method(player: Player, data: Any) -> dict[int, Any]:
        client = ledger(player)
        accepted = client.accept(ENVELOPE)
        if data == "decline":
            client.decline(accepted, "q1")
            player.rr_doped, player.declined = "", True
            return {player.id_in_group: "You declined: nothing of this question is saved."}
        player.rr_doped, player.declined = client.answer(accepted, "q1", truth=data).to_bytes().decode(), False
        return {player.id_in_group: "Your answer was changed at random, and what came out is saved."}

    @staticmethod
    def error_message(player: Player, values: Any) -> str | None:
        return None if player.rr_doped or player.declined else "Please answer, or say that you would rather not."


page_sequence = [Ask]
