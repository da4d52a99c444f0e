"""The five studies as pages: docs/studies/ is made of kept recordings by this room. See README.md."""
