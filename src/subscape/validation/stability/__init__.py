"""Stability: do clusters come back on samples, halves and other seeds?"""
