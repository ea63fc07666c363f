"""Tables in files.

- `plane_file`: plane files, a coded table on disk: layout and writer; `plane_reader`: checks, and maps them into memory
- `csv_layout`: separator and decimal point of a CSV file, and a first column that counts or names rows
- `csv_rows`: rows of a CSV file with more fields than its header: row names, trailing separators
- `missing_words`: words that are missing values, and others that look like markers of them
- `readers`: reading a table from files
"""
