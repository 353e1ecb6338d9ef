"""Message filters: tags and SQL92 expressions, and the table of compiled expressions of consumer groups.

It must not know clients or the requests that read queues.
"""
