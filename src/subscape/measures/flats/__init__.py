"""Scores by the flats that clusters spread along: reconstruction and description length."""
