"""The work of ``pgmx learn`` and ``pgmx bootstrap``; `command` has the entry points."""
