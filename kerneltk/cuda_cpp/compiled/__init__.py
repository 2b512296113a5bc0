"""What is known of sources that were compiled before."""
