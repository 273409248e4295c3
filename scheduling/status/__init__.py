"""Pure functions that compute the next state of a Workload. The time is an argument.

A function that changes nothing returns its argument, so that callers can compare with `is` before they write.
"""
