"""A call becomes an exit: the only rooms that start processes."""
