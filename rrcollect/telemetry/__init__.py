"""Telemetry for a command-line tool, an app or a service: `Telemetry`, and `RandomisedReader` for OpenTelemetry."""

from rrcollect.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__)
