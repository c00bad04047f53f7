"""Speed, as ratios against references timed in the same run, and the tightness of limits against
the truth.
"""
