"""What makes a physical plan executable: state info, distributions, codegen stages, validation."""
