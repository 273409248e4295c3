"""What a release publishes, made offline from one commit: the same commit gives the same bytes.

`python -m generators.release build 0.1.0` writes everything below build/release. docs/supply-chain.md says what each
file is.
"""
