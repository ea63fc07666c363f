"""Tables in files: CSV and Parquet files and iterators of frames as columns, and plane files of coded tables."""
