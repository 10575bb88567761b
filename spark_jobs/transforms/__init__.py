"""Pure functions from DataFrames to DataFrames: no IO, no actions, no session."""
