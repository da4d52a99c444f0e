"""The TOML file as typed models."""
