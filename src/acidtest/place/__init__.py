"""Where the database lives, and the ledger of what was made."""
