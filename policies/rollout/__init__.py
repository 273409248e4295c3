"""Finds an order in which the objects of a change can be applied one by one without a refusal."""
