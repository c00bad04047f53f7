"""Speed, as ratios against references timed in the same run."""
