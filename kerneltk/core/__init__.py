"""What every other package builds on: settings, dtypes, arrays, messages, shared types."""
