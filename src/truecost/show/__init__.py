"""What people see: sentences, terminal, page, figures and LaTeX. No statistics here."""
