"""What several tests need: events, a stream's surroundings, rows of tables as plain Python."""
