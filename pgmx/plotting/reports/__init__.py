"""Reports of learned graphs: one HTML file with an interactive graph, which works offline."""
