"""Queues in one tree, with usage: what the queues of Volcano and of YuniKorn have in common."""
