#error <cuda_fp8.h> cannot run on CPU cores: the host backend of kerneltk has no numbers of 8 bits and fewer. Guard the include and its uses by #ifndef __KERNELTK_HOST__, or run this kernel on a GPU.
