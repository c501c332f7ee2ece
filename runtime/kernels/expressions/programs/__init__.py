"""Which expressions become programs for tasks; neither Arrow nor numpy is needed."""
