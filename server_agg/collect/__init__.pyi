"""The public names of server_agg.collect, one line each: `rrcollect.lazy` reads them here, and so do type checkers."""

from server_agg.collect.http.app import lifespan as lifespan
from server_agg.collect.store.store import Store as Store
