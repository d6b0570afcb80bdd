"""The inside of rrcollect.answer, as the tests see it."""

from rrcollect.answer import client
from rrcollect.answer.acceptance import AcceptedSurvey, SeenVersion
from rrcollect.answer.asking import QuestionDraw
from rrcollect.answer.attributes import Attributes
from rrcollect.answer.draw import Truth, fresh_keystream
from rrcollect.answer.explain.explanation import survey_lines
from rrcollect.answer.explain.headline import question_headline
from rrcollect.answer.explain.words import LANGUAGES, Words, marked, shown_lines
from rrcollect.answer.ledger import file, guard, ledger
from rrcollect.answer.ledger import tokens as ledger_tokens
from rrcollect.answer.ledger.content import content_of, meta_of
from rrcollect.answer.ledger.file import LedgerFile
from rrcollect.answer.ledger.guard import RollbackGuard, link
from rrcollect.answer.ledger.ledger import Ledger
from rrcollect.answer.ledger.rules import LedgerRequest
