"""What a change does to quota: what each node has before and after, and who gains and who loses."""
