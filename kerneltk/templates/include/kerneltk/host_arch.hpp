// The architecture that device code meets on CPU cores. Included by units of a user's own text
// only: generated code tells backends apart by other means.
#pragma once

// What can be run here is what compute capability 7.5 has: warp collectives with masks and
// independent threads, and none of the asynchronous copies and matrix units of later ones.
// __CUDACC__ stays undefined: the compiler is none of CUDA's, and libraries take it for one.
#ifndef __CUDA_ARCH__
#define __CUDA_ARCH__ 750
#endif
