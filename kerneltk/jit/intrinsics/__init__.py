"""What kernels can call beside Python functions: one row an operation."""
