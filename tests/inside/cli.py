"""The inside of server_agg.cli, as the tests see it."""

from server_agg.cli.terminal import plain
from server_agg.cli.truths import cells_of
