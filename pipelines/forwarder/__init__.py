"""Pushes of the telemetry topic, sent on to a receiver of OTLP."""
