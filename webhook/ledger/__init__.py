"""The ledger: changes that were allowed and are not seen yet, shared by all replicas; docs/ledger.md."""
