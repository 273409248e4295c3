"""What `quotree doctor` looks at: each check reads facts of a cluster, and judges them in pure functions."""
