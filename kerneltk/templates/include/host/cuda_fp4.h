#error <cuda_fp4.h> cannot run on CPU cores: the host backend of kerneltk has no numbers of 6 bits and fewer. Guard the include and its uses by #ifndef __KERNELTK_HOST__, or run this kernel on a GPU.
