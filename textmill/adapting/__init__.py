"""Models that go on learning from the text they are scored on: neural cache, dynamic evaluation."""
