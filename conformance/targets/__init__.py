"""What cases, scenarios and benchmarks run against."""
