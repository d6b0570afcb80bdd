"""The inside of server_agg.count, as the tests see it."""

from server_agg.count.tally import count_ones
