"""The parts of commands that need a cluster, a certificate or a server.

A command imports its module of this package only when it runs, so that help and completion are fast and need no
optional dependencies.
"""
