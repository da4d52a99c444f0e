"""The highest rate that holds a limit of latency: runs judged, the next rate decided on, and what was found. Pure."""
