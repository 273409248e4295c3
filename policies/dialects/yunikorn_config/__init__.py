"""YuniKorn's queue configuration: read as YuniKorn's core reads it, and checked as YuniKorn checks it.

config = read_config(text)               # with positions and the faults of the text
config.partition.queue("root.team.dev")  # a queue of the default partition; the case of letters does not matter
"""

from policies.dialects.yunikorn_config.model import Config, ConfiguredQueue, Partition, PlacementRule, Problem
from policies.dialects.yunikorn_config.placement import QueuePlacement, ReportedApplication
from policies.dialects.yunikorn_config.reading import read_config

__all__ = [
    "Config",
    "ConfiguredQueue",
    "Partition",
    "PlacementRule",
    "Problem",
    "QueuePlacement",
    "ReportedApplication",
    "read_config",
]
