"""The inside of rrcollect.publish, as the tests see it."""

from rrcollect.publish import document, envelope, log, tokens, tree, voprf
from rrcollect.publish.canonical import canonical, read, read_canonical
from rrcollect.publish.document import RoundTimes, Segment
from rrcollect.publish.envelope import LARGEST_ENVELOPE, SURVEY_TYPE, WITHDRAWAL_TYPE, Withdrawal, pae, seal, verify
from rrcollect.publish.issuer import input_of
from rrcollect.publish.kinds import YesNo
from rrcollect.publish.log import LogRule, read_checkpoint, survey_entry
from rrcollect.publish.relay import Relay
from rrcollect.publish.report import COMPARED, LARGEST_REPORT, STATUS, ReportRow, fault
from rrcollect.publish.texts import words
from rrcollect.publish.tickets import (
    check_invite,
    invite_proof,
    known_as,
    new_invite,
    proof_known_as,
    ticket,
    ticket_hashes,
)
