"""What runs allow to say and to decide: certificates and the over-tuning report. No files, no processes, no clock."""
