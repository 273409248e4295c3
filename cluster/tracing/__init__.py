"""The id under which a request or a Workload is followed, and spans of it where traces are on."""
