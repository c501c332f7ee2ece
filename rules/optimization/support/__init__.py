"""What rules of optimization ask: settings, small constructors, what is known of rows."""
