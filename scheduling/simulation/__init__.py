"""A cluster played without one: objects in, events in order, and what came of them as data."""
