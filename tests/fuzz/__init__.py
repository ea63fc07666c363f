"""Attacks on pgmx: files that are damaged or forged, and calls with any arguments."""
