"""Tests of users: a query step by step in a program, and scenario files."""
