"""Passes over tables of torch, cupy and others that stay on their device."""
