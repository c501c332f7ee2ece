"""Tests of the runtime plan: its passes, its operators, and whole plans."""
