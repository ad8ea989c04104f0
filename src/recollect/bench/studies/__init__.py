"""The questions that the benchmark settles: which default, which parameter, which floor."""
