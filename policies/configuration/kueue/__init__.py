"""Kueue's own Configuration (config.kueue.x-k8s.io/v1beta2): what it means by default, and what Kueue refuses.

What decisions take from it: `scheduling.world.kueue_configuration`; what the reconciler does: `reconciler.configured`.
"""
