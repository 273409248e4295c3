"""The walks of CONTRIBUTING.md, rehearsed on scratch copies of the project."""
