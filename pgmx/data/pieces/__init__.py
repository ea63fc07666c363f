"""Tables that arrive in chunks, or are larger than memory.

- `chunks`: tables in chunks: files, folders of files and iterators of frames, as frames of one set of columns
- `state_dictionaries`: states that grow chunk by chunk: one dictionary per column, for tables that are read in chunks
- `streaming`: coding of tables larger than memory, in one pass over their chunks
"""
