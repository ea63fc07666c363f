"""Searches for graphs by tests of conditional independence: PC, FCI and RFCI."""
