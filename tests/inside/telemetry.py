"""The inside of rrcollect.telemetry, as the tests see it."""

from rrcollect.telemetry.note import NAME, Note
from rrcollect.telemetry.reader import Metrics
