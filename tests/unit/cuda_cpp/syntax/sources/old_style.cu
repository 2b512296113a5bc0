#ifndef SCALE_KERNEL_H
#define SCALE_KERNEL_H
#include <cutil.h>
#include <device_functions.h>
#include <math_functions.h>
#define SDATA( index)      sdata[index]
__constant__ float c_Kernel[ 17 ];
#define IMUL(a, b) __mul24(a, b)
extern "C" void reference( float* result, float* idata, const unsigned int len);
////////////////////////////////////////////////////////////////////////////////
//! Scales what it is given
//! @param g_idata  what to scale
////////////////////////////////////////////////////////////////////////////////
__global__ void
scale( float* g_idata, float* g_odata)
{
  // shared memory
  extern  __shared__  float sdata[];
  const unsigned int tid = threadIdx.x;
  sdata[tid] = g_idata[tid];
  __syncthreads();
  g_odata[tid] = (float) IMUL(3, 4) * sdata[tid] * c_Kernel[0];
}
#endif // SCALE_KERNEL_H
extern "C" void run(float* a) { cudaMemcpyToSymbol(c_Kernel, a, 17 * sizeof(float)); scale<<< 1, 2, 3 >>>(a, a); }
