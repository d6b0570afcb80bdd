"""The public names of rrcollect.telemetry."""

from rrcollect.telemetry.host import Telemetry as Telemetry
from rrcollect.telemetry.reader import RandomisedReader as RandomisedReader
