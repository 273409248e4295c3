"""Decisions of Volcano's scheduler: which PodGroup enters its queue, which pod runs, which pod is reclaimed.

Source: Volcano v1.16, pkg/scheduler: plugins capacity and proportion, and the actions.
"""
