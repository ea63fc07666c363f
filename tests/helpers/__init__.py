"""What several test files share: tables, networks, runs and scripts. There are no tests here."""
