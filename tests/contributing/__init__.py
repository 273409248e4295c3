"""The walks of docs/extend-*.md, rehearsed on scratch copies of the project."""
