#error <cufftXt.h> cannot run on CPU cores: the host backend of kerneltk has no GPU libraries. Guard the include and its uses by #ifndef __KERNELTK_HOST__, or run this kernel on a GPU.
