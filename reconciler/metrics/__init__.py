"""The metrics of the reconciler. A new one is an entry in a file of `families`, with the source of its values.

- `families`: what is exported, one file by topic; `source`: how a file registers the source of its values.
- `occasions`: what a source can read: a change of a Workload, a cycle, the process; at a scrape also the world.
- `kueue`: shared code of the metrics under Kueue's names.
- `instruments` keeps counters and histograms; `collector` reads gauges at a scrape.
- `pending_counts` counts Workloads for the gauges.
- `observer` watches the loop; `registry` omits metrics that the configuration switches off; `export` connects it all.

The tables in docs/metrics.md and docs/kueue-metrics.md are generated from `catalogue`.
"""
