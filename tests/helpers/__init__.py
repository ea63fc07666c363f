"""What several test files share: tables, networks, runs and scripts. No tests stand here."""
