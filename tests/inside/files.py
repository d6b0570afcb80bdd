"""The inside of server_agg.files, as the tests see it."""

from server_agg.files import FORMULA, harmless
