#error <cub/device/device_radix_sort.cuh> cannot run on CPU cores: the host backend of kerneltk has none of CUB for whole devices. Use its functions of blocks and warps, or run this kernel on a GPU.
