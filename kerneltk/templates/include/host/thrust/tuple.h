#error <thrust/tuple.h> cannot run on CPU cores: the host backend of kerneltk has no Thrust. Guard the include and its uses by #ifndef __KERNELTK_HOST__, or run this kernel on a GPU.
