"""YuniKorn's queue configuration: read as its core reads it, and checked exactly as YuniKorn checks it.

config = read_config(text)               # positions, and the faults of the text itself
config.partition.queue("root.team.dev")  # a Queue of the default partition, in any case of letters
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
