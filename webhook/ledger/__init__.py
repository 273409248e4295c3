"""The ledger: changes that were allowed and that not every cache shows yet; shared by all replicas (docs/ledger.md)."""
