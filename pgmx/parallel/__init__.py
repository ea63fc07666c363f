"""Independent tasks over one table, on threads, processes or a cluster."""
