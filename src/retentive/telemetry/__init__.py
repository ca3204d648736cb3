"""OpenTelemetry: a span around each call of a Memory. `pip install 'retentive[otel]'`."""

from retentive.telemetry.instrumenting import instrument

__all__ = ["instrument"]
