"""The metrics of the reconciler. A new one is an entry in a file of `families`, with the source of its values.

- `families`: what is exported, one file by topic; `source`: how a file registers where its values come from.
- `occasions`: what a source can read: a change of a Workload, a cycle, the process; beside them the world at a scrape.
- `kueue`: what the metrics under Kueue's names have in common.
- `instruments` keeps counters and histograms; `collector` reads gauges at a scrape; `standing` counts Workloads for it.
- `observer` watches the loop; `registry` leaves out what the configuration leaves out; `export` connects all of it.

The tables in docs/metrics.md are generated from `catalogue`.
"""
