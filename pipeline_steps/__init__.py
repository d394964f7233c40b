"""One module per DVC stage: read parameters and files, call the library, write files."""
