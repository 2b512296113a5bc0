#include <kerneltk/jit_array.hpp>

extern "C" __global__ void transpose(kerneltk::jit::array<float, 2> x, kerneltk::jit::array<float, 2> y) {
    // tile = jit.shared_memory(np.float32, (16, 17))
#line 2 "kernel.py"
    __shared__ float tile[16][17];
    // i, j = jit.threadIdx.y, jit.threadIdx.x
#line 3 "kernel.py"
    const long long i = (long long)threadIdx.y;
#line 3 "kernel.py"
    const long long j = (long long)threadIdx.x;
    // row, column = 16 * jit.blockIdx.y + i, 16 * jit.blockIdx.x + j
#line 4 "kernel.py"
    const long long t = (long long)(int)(16u * (int)blockIdx.y + (int)i);
#line 4 "kernel.py"
    const long long t_2 = 16 * (long long)blockIdx.x + j;
#line 4 "kernel.py"
    long long row = t;
#line 4 "kernel.py"
    long long column = t_2;
    // if row < x.shape[0] and column < x.shape[1]:
#line 5 "kernel.py"
    if (row < x.shape[0] && column < x.shape[1]) {
        // tile[i, j] = x[row, column]
#line 6 "kernel.py"
        tile[i][j] = x(row, column);
    }
    // jit.syncthreads()
#line 7 "kernel.py"
    __syncthreads();
    // row, column = 16 * jit.blockIdx.x + i, 16 * jit.blockIdx.y + j
#line 8 "kernel.py"
    const long long t_3 = 16 * (long long)blockIdx.x + i;
#line 8 "kernel.py"
    const long long t_4 = (long long)(int)(16u * (int)blockIdx.y + (int)j);
#line 8 "kernel.py"
    row = t_3;
#line 8 "kernel.py"
    column = t_4;
    // if row < y.shape[0] and column < y.shape[1]:
#line 9 "kernel.py"
    if (row < y.shape[0] && column < y.shape[1]) {
        // y[row, column] = tile[j, i]
#line 10 "kernel.py"
        y(row, column) = tile[j][i];
    }
}
