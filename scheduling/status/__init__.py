"""Steps from one state of a Workload to the next: values in, values out, time as an argument.

A step that changes nothing returns its argument, so that `is` shows whether to write.
"""
