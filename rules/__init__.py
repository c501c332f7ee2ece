"""Rules over plans: analysis, support checks, optimization, preparation."""
