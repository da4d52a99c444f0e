"""What foreign bytes say of themselves. Every reader takes any bytes and answers with facts or with its own refusal."""
