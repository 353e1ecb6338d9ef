"""Metrics: the samples of an engine for the metrics that upstream's broker and proxy export.

Reading changes nothing. The room must not know text formats, ports or the interval of an export.
"""
