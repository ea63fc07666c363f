"""Tables in files.

- `plane_file`: plane files: a coded table on disk, mapped into memory when it is opened
- `readers`: reading a table from files
"""
