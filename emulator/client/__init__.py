"""Connected clients: registrations and heartbeats, requests to clients, queue locks, queue assignments.

It must not know how messages are sent or consumed, nor how an effect reaches a client.
"""
