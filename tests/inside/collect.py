"""The inside of server_agg.collect, as the tests see it."""

from server_agg.collect.admission import Admission
from server_agg.collect.catalogue import Catalogue, PublishedSurvey
from server_agg.collect.group_commit import GroupCommit
from server_agg.collect.housekeeping import close_due
from server_agg.collect.http import pages
from server_agg.collect.http.app import Collector
from server_agg.collect.http.bodies import BodyBudget, body_of
from server_agg.collect.http.findings import HEAD, as_csv
from server_agg.collect.http.gateway import Gateway, GatewayKeys
from server_agg.collect.http.pages import asset
from server_agg.collect.issuing import Issuing
from server_agg.collect.serve import server_config
from server_agg.collect.settings import settings_from_environment, variable
from server_agg.collect.store import crowds, fold, postgres, sqlite
from server_agg.collect.store.crowds import add_to_crowds
from server_agg.collect.store.database import STEPS
from server_agg.collect.store.epochs import KeyRing, marked_reports
from server_agg.collect.store.fold import folded_from
from server_agg.collect.store.keys import EpochKey, KeyFolder
from server_agg.collect.store.log import SignedLog, add_entry
from server_agg.collect.store.release import count_issued
from server_agg.collect.store.release_rule import next_release
from server_agg.collect.store.reports import Cell, CellCount, IncomingReport, Spending, incoming, packed
from server_agg.collect.store.sqlite import SqliteDatabase
from server_agg.collect.store.taking import ReportOutcome
