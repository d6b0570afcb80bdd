"""The inside of rrcollect.deliver, as the tests see it."""

from rrcollect.deliver import bhttp, encapsulation
from rrcollect.deliver.oblivious import INNER
from rrcollect.deliver.schedule import remaining, schedule
from rrcollect.deliver.transport import HttpLog
