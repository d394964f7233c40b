"""What every tokenizer makes of the text, on one page."""
