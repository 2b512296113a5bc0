#error <surface_functions.h> cannot run on CPU cores: the host backend of kerneltk has no textures. Read through a pointer, or run this kernel on a GPU.
