// The architecture that device code meets on CPU cores. Included by units of a user's own source
// only: generated code tells backends apart by other means.
#pragma once

// What can be run here is what compute capability 7.5 has: warp collectives with masks and
// independent threads, and none of the asynchronous copies and matrix units of later ones.
#ifndef __CUDA_ARCH__
#define __CUDA_ARCH__ 750
#endif
#ifndef __CUDA_ARCH_LIST__
#define __CUDA_ARCH_LIST__ __CUDA_ARCH__
#endif
// What tells device code that the compiler takes its annotations.
#ifndef __CUDACC__
#define __CUDACC__ 1
#endif
// What tells a kernel that it runs on CPU cores.
#define __KERNELTK_HOST__ 1
