"""The compile cache: bytes by key."""
