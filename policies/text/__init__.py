"""Text with positions: JSON and YAML as values, nodes or members, and the line and column of each part.

- `json_values`, `yaml_values`: documents as Kubernetes reads them, each with its span;
- `field_paths`: from a field path to its place in the text of such a document;
- `yaml_nodes`: a YAML text inside a manifest as nodes that keep how each scalar is written;
- `json_members`: a JSON object inside a manifest as members, duplicates included.

All of them report unreadable text as `BadText`. Only `yaml_events` imports the YAML library.
"""
