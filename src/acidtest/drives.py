"""What drives can do at most: limits that no flush and no rate passes."""

FASTEST_US = 5.0
FASTEST_WITH_CACHE_US = 20.0
AS_PLAIN = 1.5
TURNS_PER_S_COMMON = 7200 / 60
TURNS_PER_S_MOST = 15_000 / 60
TOLERANCE = 1.02  # a disk may turn a little faster than it says
