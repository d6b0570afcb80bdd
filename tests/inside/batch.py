"""The inside of server_agg.batch, as the tests see it."""

from server_agg.batch import frame_engine, tally_reports
from server_agg.batch.sources import COLUMNS
from server_agg.batch.summary import NUMBER_OF, Summary
from server_agg.batch.survey_tables import SurveyTables
