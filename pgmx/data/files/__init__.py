"""Tables in files.

- `plane_file`: plane files, a coded table on disk: layout and writer; `plane_reader`: checks, and maps them into memory
- `readers`: reading a table from files
"""
