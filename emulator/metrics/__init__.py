"""Metrics: what the exporter of upstream's broker and proxy reports, read from an engine, and the emulator's own.

Reading changes nothing. The room must not know text formats, ports or the interval of an export.
"""
