"""Clusterings compared by where their points lie: density profiles and ADCO."""
