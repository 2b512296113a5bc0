#error <cub/device/device_reduce.cuh> cannot run on CPU cores: the host backend of kerneltk has no CUB. Sum and shuffle with cooperative_groups/reduce.h or __shfl_sync, or run this kernel on a GPU.
