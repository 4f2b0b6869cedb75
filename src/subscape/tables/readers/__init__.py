"""Readers of tables: one per kind of file or object."""
