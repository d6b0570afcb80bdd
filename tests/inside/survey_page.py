"""The inside of server_agg.survey_page, as the tests see it."""

from server_agg.survey_page import question as asked_question
from server_agg.survey_page.released import ReleaseFacts, crowd_words
from server_agg.survey_page.results import released_results
from server_agg.survey_page.rounds import headline_of
