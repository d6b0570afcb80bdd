"""The inside of server_agg.results, as the tests see it."""

from server_agg.results.drawing import COLOURS, Point
