"""One way to turn ``random_state`` into independent, reproducible streams."""

from __future__ import annotations

from typing import Any

import numpy as np

from subscape.core.checks import LARGEST_INTEGER


def seed_sequence(random_state: Any) -> np.random.SeedSequence:
    """Seed sequence of an int, a NumPy generator, a legacy RandomState, or None (fresh entropy).

    Children made by ``spawn`` are independent streams, so that restarts give the same bits in any
    order and on any number of workers.

    >>> seed_sequence(7).generate_state(1) == seed_sequence(7).generate_state(1)
    array([ True])
    """
    if random_state is None:
        return np.random.SeedSequence()
    if isinstance(random_state, np.random.SeedSequence):
        return random_state
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(random_state.integers(0, 2**63, 2).tolist())
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(random_state.randint(0, 2**31 - 1, 4).tolist())
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if random_state < 0:
            raise ValueError(f"random_state must be at least 0, got {random_state}")
        if random_state > LARGEST_INTEGER:
            raise ValueError(
                f"random_state must be at most 2**63 - 1, so that files can hold it, got "
                f"{random_state}"
            )
        return np.random.SeedSequence(int(random_state))
    raise ValueError(
        f"random_state must be None, an int, a Generator or a RandomState, got {random_state!r}"
    )


def child_seed(seed: np.random.SeedSequence, place: int) -> np.random.SeedSequence:
    """The child at this place of those that ``spawn`` would make next, without the others.

    >>> seed = np.random.SeedSequence(7)
    >>> third = child_seed(seed, 2)
    >>> third.generate_state(1) == seed.spawn(3)[2].generate_state(1)
    array([ True])
    """
    key = (*seed.spawn_key, seed.n_children_spawned + place)
    return np.random.SeedSequence(seed.entropy, spawn_key=key, pool_size=seed.pool_size)
