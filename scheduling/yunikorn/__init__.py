"""YuniKorn's queues: what each may use, which Pods of which applications run, and which are preempted."""
