"""Steps from one state of a Workload to the next: values in, values out, time as an argument.

A step that changes nothing returns the very workload that it was given, so that `is` tells whether to write.
"""
