"""Running cases and scenarios on targets."""
