"""What NVRTC takes of a ``.cu`` file, and what its errors mean."""
