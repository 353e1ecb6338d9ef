"""Connected clients: registrations and heartbeats, deliveries, requests to clients, queue locks, queue assignments.

It must not know the rules of sends, pulls and pops, nor how an effect reaches a client.
"""
