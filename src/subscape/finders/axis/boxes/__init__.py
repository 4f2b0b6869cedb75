"""Boxes found one after another and fitted to the data: what DOC, FastDOC and MineClus share."""
