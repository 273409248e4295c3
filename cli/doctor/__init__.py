"""The checks of `quotree doctor`: each reads facts of a cluster and evaluates them in pure functions."""
