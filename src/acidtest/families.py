"""What is the same for all versions of an engine family; below every layer, so that each may look it up."""
