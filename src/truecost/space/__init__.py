"""Parameter spaces: files, configurations, arguments."""
