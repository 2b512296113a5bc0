// <omp.h> where the compiler has none: only code for the host, which is left out, needs what it declares.
#pragma once
#if __has_include_next(<omp.h>)
#include_next <omp.h>
#endif
