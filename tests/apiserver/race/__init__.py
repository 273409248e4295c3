"""Two writers at one moment, in front of one or more replicas: `make race`."""
