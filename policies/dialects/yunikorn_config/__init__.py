"""YuniKorn's queue configuration: read as its core reads it, and checked exactly as YuniKorn checks it.

config = read_config(text)                  # positions, and the faults of the text itself
config.queue("root.team.dev")               # a Queue of the default partition, in any case of letters
place(config, Application(queue="root.x"))  # the queue that the rules give, or why there is none
"""

from policies.dialects.yunikorn_config.model import Config, Partition, PlacementRule, Problem, Queue
from policies.dialects.yunikorn_config.placement import Application, Placement, place
from policies.dialects.yunikorn_config.reading import read_config

__all__ = [
    "Application",
    "Config",
    "Partition",
    "Placement",
    "PlacementRule",
    "Problem",
    "Queue",
    "place",
    "read_config",
]
