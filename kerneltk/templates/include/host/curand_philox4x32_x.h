#error <curand_philox4x32_x.h> cannot run on CPU cores: the host backend of kerneltk has no cuRAND. Pass random numbers as an array, or run this kernel on a GPU.
