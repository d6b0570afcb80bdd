"""The public names of server_agg.collect, one line each: `rrcollect.lazy` reads them here, and so do type checkers."""

from server_agg.collect.admission import Admission as Admission
from server_agg.collect.catalogue import Catalogue as Catalogue
from server_agg.collect.http.app import lifespan as lifespan
from server_agg.collect.store.reports import IncomingReport as IncomingReport
from server_agg.collect.store.reports import incoming as incoming
from server_agg.collect.store.shelf import PublishedSurvey as PublishedSurvey
from server_agg.collect.store.store import Store as Store
from server_agg.collect.store.taking import ReportOutcome as ReportOutcome
