"""The rules over our own recordings, in files by what they look at. A file that is added adds its rules."""
