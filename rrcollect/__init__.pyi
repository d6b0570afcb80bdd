"""The public names of rrcollect, one line each: `rrcollect.lazy` reads them here, and so do type checkers."""

from rrcollect import classic as classic
from rrcollect.answer.attributes import Attribute as Attribute
from rrcollect.answer.attributes import EveryAttributeOf as EveryAttributeOf
from rrcollect.answer.client import Client as Client
from rrcollect.answer.clients import Clients as Clients
from rrcollect.answer.draw import randomise as randomise
from rrcollect.answer.draw import randomise_many as randomise_many
from rrcollect.answer.ledger.bulk import BulkLedger as BulkLedger
from rrcollect.answer.policy import Policy as Policy
from rrcollect.answer.policy import TrustedPublisher as TrustedPublisher
from rrcollect.deliver.oblivious import OhttpTransport as OhttpTransport
from rrcollect.deliver.simulated import SimulatedCollector as SimulatedCollector
from rrcollect.deliver.transport import HttpLog as HttpLog
from rrcollect.deliver.transport import HttpTransport as HttpTransport
from rrcollect.deliver.transport import Transport as Transport
from rrcollect.design.blocks import BlockDesign as BlockDesign
from rrcollect.design.optimal import optimal_design as optimal_design
from rrcollect.design.parameters import Epsilon as Epsilon
from rrcollect.design.promise import Promise as Promise
from rrcollect.design.sets import SetDesign as SetDesign
from rrcollect.design.yes_no import Design as Design
from rrcollect.errors import AnswerRefused as AnswerRefused
from rrcollect.errors import LedgerError as LedgerError
from rrcollect.errors import ParameterError as ParameterError
from rrcollect.errors import RRCollectError as RRCollectError
from rrcollect.errors import SurveyRefused as SurveyRefused
from rrcollect.publish.issuer import TokenSecret as TokenSecret
from rrcollect.publish.keys import PublicKey as PublicKey
from rrcollect.publish.keys import SigningKey as SigningKey
from rrcollect.publish.kinds import Choice as Choice
from rrcollect.publish.kinds import Number as Number
from rrcollect.publish.kinds import Several as Several
from rrcollect.publish.question import Disclosure as Disclosure
from rrcollect.publish.question import Question as Question
from rrcollect.publish.report import Report as Report
from rrcollect.publish.survey import Survey as Survey

__version__: str
