"""The metrics of the reconciler. To add one, add it to a file in `families`, with the source of its values.

- `families`: the exported metrics, one file for each topic. `source` registers the source of their values.
- `occasions`: what a source can read: a change of a Workload, a cycle or the process; at a scrape also the world.
- `kueue`: what the metrics with Kueue's names have in common.
- `instruments` has the counters and histograms; `collector` reads the gauges at a scrape.
- `pending_counts` counts Workloads for the gauges.
- `observer` observes the loop. `registry` omits metrics that the configuration switches off. `export` connects them.

The tables in docs/metrics.md and docs/kueue-metrics.md are generated from `catalogue`.
"""
