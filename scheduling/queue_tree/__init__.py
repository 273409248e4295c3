"""A tree of queues with usage, which the queues of Volcano and of YuniKorn share."""
