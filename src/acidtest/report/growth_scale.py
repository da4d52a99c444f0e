"""What a reduced scale keeps of a growing database, and what it does not."""

# docs/GROWTH.md has the same points.
KEEPS = (
    "The ratios of database to memory and of database to the engine's cache.",
    "The skew of the accesses, the mix of reads and writes, rows and pages of full size.",
)
LOSES = (
    "The depth of indexes, which grows with the logarithm of the rows: a thousandth of the rows saves a level or two.",
    "What an engine needs for itself and for each session, which does not shrink: only the rest of the limit caches "
    "anything, and a database outgrows its cache before it reaches the limit.",
    "The drive's own cache, which is as large as ever, and on a virtual machine that of its host.",
    "Fixed costs: checkpoints, log segments, files that are extended by fixed amounts.",
    "Hot rows: few warehouses have few district rows, for which terminals queue, the more the smaller the database.",
    "Rates and sizes in bytes: read slopes in multiples of memory, and take no prediction from one scale to another.",
)
