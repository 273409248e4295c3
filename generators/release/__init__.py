"""Builds the files of a release offline from one commit. The build is reproducible.

`python -m generators.release build 0.1.0` writes them to build/release. docs/supply-chain.md describes each file.
"""
