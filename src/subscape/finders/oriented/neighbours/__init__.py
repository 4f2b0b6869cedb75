"""Close rows, and the pairs that they form: what 4C and COPAC share."""
