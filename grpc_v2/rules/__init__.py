"""Rules of upstream's proxy: validation of names, times and messages, and the texts and codes of its responses.

It must not know calls, sessions or brokers. Rules of the broker belong to the engine.
"""
