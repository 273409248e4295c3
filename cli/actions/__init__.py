"""What a command does that needs a cluster, a certificate or a server.

A command imports its module here when it runs: its help and completion load none of it, and need no extra.
"""
