"""What a case holds in its hand: clients of either protocol, unique names, time, and notes of what it saw."""
