"""`RandomisedReader`: questions answered from the metrics that an app keeps for OpenTelemetry.

Rules
1. Metrics stay in the process.  What leaves are randomised answers, by our own delivery and not by OTLP: what an
   exporter adds to every request (service, host, process) would name the install.
2. A question is a function of `Metrics`; it is asked once per round, when the host ends or `finish` is called.  A
   histogram that was never recorded to has no percentile: None, and nothing is drawn.
3. The metrics are read once for all questions.  At shutdown of the provider the last values are kept, so that a host
   whose provider ends before `Telemetry` does is answered by them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rrcollect.lazy import extra

if TYPE_CHECKING:
    from rrcollect.telemetry.host import Telemetry

export: Any = extra("opentelemetry.sdk.metrics.export", "otel")


class Metrics:
    """The present values of an app's instruments, by name; a counter that never counted is 0."""

    def __init__(self, data: Any) -> None:
        self._points: dict[str, list[Any]] = {}
        for resource in () if data is None else data.resource_metrics:
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    self._points.setdefault(metric.name, []).extend(metric.data.data_points)

    def total(self, name: str, **attributes: Any) -> float:
        """The sum over the points of a counter or gauge with these attributes; 0 if nothing was counted."""
        return float(sum(point.value for point in self._with(name, attributes)))

    def count(self, name: str, **attributes: Any) -> int:
        """How often a histogram was recorded to."""
        return sum(point.count for point in self._with(name, attributes))

    def percentile(self, name: str, percent: float, **attributes: Any) -> float | None:
        """A percentile of what a histogram recorded, interpolated within its bucket, between its least and greatest.

        Only explicit buckets: an exponential histogram is refused by an AttributeError, as a counter is."""
        points = [point for point in self._with(name, attributes) if point.count]
        if not points:
            return None
        bounds = points[0].explicit_bounds
        counts = [sum(point.bucket_counts[i] for point in points) for i in range(len(bounds) + 1)]
        least, most = min(point.min for point in points), max(point.max for point in points)
        edges = [least, *(min(max(bound, least), most) for bound in bounds), most]
        wanted, below = percent / 100 * sum(counts), 0
        for place, count in enumerate(counts):
            if count and below + count >= wanted:
                share = max(wanted - below, 0.0) / count
                return float(edges[place] + share * (edges[place + 1] - edges[place]))
            below += count
        return float(most)

    def largest(self, name: str, attribute: str) -> Any:
        """The value of an attribute under which a counter counted most: "which plug-in crashed?"."""
        sums: dict[Any, float] = {}
        for point in self._points.get(name, ()):
            said = (point.attributes or {}).get(attribute)
            if said is not None:
                sums[said] = sums.get(said, 0) + point.value
        return max(sums, key=lambda said: sums[said]) if sums else None

    def _with(self, name: str, attributes: Mapping[str, Any]) -> Iterator[Any]:
        for point in self._points.get(name, ()):
            has = point.attributes or {}
            if all(has.get(key) == value for key, value in attributes.items()):
                yield point


class RandomisedReader(export.MetricReader):  # type: ignore[misc]
    """A metric reader that answers questions instead of exporting.

    MeterProvider(metric_readers=[RandomisedReader(telemetry, {"crashed": lambda m: m.total("app.crashes") > 0})])
    """

    def __init__(self, telemetry: Telemetry, questions: Mapping[str, Callable[[Metrics], Any]]) -> None:
        super().__init__()
        self._telemetry, self._last, self._open = telemetry, Metrics(None), True
        for name, asked in questions.items():
            telemetry.answer(name, self._truth(asked))

    def _truth(self, asked: Callable[[Metrics], Any]) -> Callable[[], Any]:
        def truth() -> Any:
            if self._open and self._collect is not None:  # without a provider there is nothing to collect
                self.collect()
            return asked(self._last)

        return truth

    def _receive_metrics(self, metrics_data: Any, timeout_millis: float = 10_000, **_: Any) -> None:
        self._last = Metrics(metrics_data)

    def shutdown(self, timeout_millis: float = 30_000, **_: Any) -> None:
        """Keep the last values, and answer from them."""
        if self._open:
            self.collect()
            self._open = False
            self._telemetry.finish()
