"""What lies in a checkpoint's state, for people: tables, figures, another number of stores."""
