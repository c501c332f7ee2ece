"""What rules of analysis and optimization share: walks of plans, WITH, fresh columns."""
