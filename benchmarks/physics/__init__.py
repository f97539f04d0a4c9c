"""Physics beside the bare engines: what a scene adds, in ratios from one run."""
