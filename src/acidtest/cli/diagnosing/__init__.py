"""Makes a diagnosis: part after part, each by what the house has for it. Nothing of the user's is changed."""
