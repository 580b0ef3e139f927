"""System checks: a wrong setting becomes a sentence with a way out."""
