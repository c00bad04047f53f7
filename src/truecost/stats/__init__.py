"""Statistics: numbers in, limits out; nothing here knows files, processes or charts."""
