"""Tables whose rows lie with the workers of a cluster: passes run there, and sums come back."""
