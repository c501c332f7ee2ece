"""Arrays, maps, structs, and functions with lambdas over them."""
