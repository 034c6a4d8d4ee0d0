"""One module per suite, each with ``SUITE``, and the tasks that they share."""
