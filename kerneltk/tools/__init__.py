"""What describes this machine and its libraries."""
