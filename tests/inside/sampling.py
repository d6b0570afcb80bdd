"""The inside of server_agg.sampling, as the tests see it."""

from server_agg.sampling.sample import Sample
