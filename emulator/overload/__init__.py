"""Thread pools of a broker's processors: queueing of requests, and refusals when the broker is overloaded.

It must not know the operations' rules; it imports the gate, the store's refusals and lower rooms only.
"""
