"""The questions the benchmark answers: which default, which parameter, which floor."""
