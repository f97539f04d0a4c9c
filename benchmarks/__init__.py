"""Speed beside the peers, as ratios from one run. `python -m benchmarks [name ...]`."""
