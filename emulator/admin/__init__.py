"""Administration: requests of mqadmin and other tools about topics, groups, messages, statistics and configuration.

Knows all services of a broker. Must not know protocols, or the broker that combines the services.
"""
