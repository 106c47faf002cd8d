"""Reading: YAML text to specs, every value with its place, everything that does not fit a finding."""
