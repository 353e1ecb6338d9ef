"""The parts of which a broker is put together: declared handlers, listeners, durable state, and the context of a run.

It must not know any service or any rule.
"""
