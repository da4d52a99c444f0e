"""What is doubtful about our own recordings: runs, searches, power cuts and probes. It knows no kits: see ``audit``."""
