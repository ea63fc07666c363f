"""Tables that arrive in pieces, or are larger than memory.

- `chunks`: tables that come in pieces: files, folders of files and iterators of frames, as frames of one set of
  columns
- `state_dictionaries`: states that grow chunk by chunk: one dictionary a column, for tables that are seen in pieces
- `streaming`: coding of tables larger than memory, in one pass over their pieces
"""
