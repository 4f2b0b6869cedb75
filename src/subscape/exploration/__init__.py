"""The main job: every honest grouping of a table.

Names are loaded when first used.
"""

from subscape.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "exploration": "Exploration Interrupted explore",
        "explain": "FeatureFact",
        "known_groupings": "leiden_groupings",
        "plan": "make_plan",
        "preparation": "prepare",
        "study": "Result Study View load_study",
    },
)
