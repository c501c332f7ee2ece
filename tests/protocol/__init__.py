"""The commit protocol's own code over file systems that are data: every crash, every order."""
