"""YuniKorn's queue configuration: read as YuniKorn's core reads it, and checked as YuniKorn checks it.

config = read_config(text)               # with positions and the faults of the text
config.partition.queue("root.team.dev")  # a queue of the default partition; the case of letters does not matter
"""
