#include <kerneltk/host_grid.hpp>
#include <kerneltk/host_device.hpp>
#include <kerneltk/host_block.hpp>
#include <kerneltk/jit_array.hpp>

static inline __attribute__((always_inline)) void transpose(kerneltk::jit::array<float, 2> x, kerneltk::jit::array<float, 2> y) {
    KERNELTK_BLOCK_BEGIN
    // tile = jit.shared_memory(np.float32, (16, 17))
#line 2 "kernel.py"
    __shared__ float tile[16][17];
    // i, j = jit.threadIdx.y, jit.threadIdx.x
#line 3 "kernel.py"
    KERNELTK_SOME_THREADS_BEGIN((true), (16 * (long long)blockIdx.y + (long long)threadIdx.y < x.shape[0] && 16 * (long long)blockIdx.x + (long long)threadIdx.x < x.shape[1]))
        long long i;
        long long j;
        long long row;
        long long column;
#line 3 "kernel.py"
        i = (long long)threadIdx.y;
#line 3 "kernel.py"
        j = (long long)threadIdx.x;
        // row, column = 16 * jit.blockIdx.y + i, 16 * jit.blockIdx.x + j
#line 4 "kernel.py"
        const long long t = 16 * (long long)blockIdx.y + i;
#line 4 "kernel.py"
        const long long t_2 = 16 * (long long)blockIdx.x + j;
#line 4 "kernel.py"
        row = t;
#line 4 "kernel.py"
        column = t_2;
        // tile[i, j] = x[row, column]
#line 6 "kernel.py"
        tile[i][j] = x(row, column);
    KERNELTK_THREADS_END
    // jit.syncthreads()
#line 7 "kernel.py"
    __syncthreads();
    // row, column = 16 * jit.blockIdx.x + i, 16 * jit.blockIdx.y + j
#line 8 "kernel.py"
    KERNELTK_SOME_THREADS_BEGIN((true), (16 * (long long)blockIdx.x + (long long)threadIdx.y < y.shape[0] && 16 * (long long)blockIdx.y + (long long)threadIdx.x < y.shape[1]))
        long long i;
        long long j;
        long long row;
        long long column;
        // i, j = jit.threadIdx.y, jit.threadIdx.x
#line 3 "kernel.py"
        i = (long long)threadIdx.y;
#line 3 "kernel.py"
        j = (long long)threadIdx.x;
        // row, column = 16 * jit.blockIdx.x + i, 16 * jit.blockIdx.y + j
#line 8 "kernel.py"
        const long long t_3 = 16 * (long long)blockIdx.x + i;
#line 8 "kernel.py"
        const long long t_4 = 16 * (long long)blockIdx.y + j;
#line 8 "kernel.py"
        row = t_3;
#line 8 "kernel.py"
        column = t_4;
        // y[row, column] = tile[j, i]
#line 10 "kernel.py"
        y(row, column) = tile[j][i];
    KERNELTK_THREADS_END
}

KERNELTK_BLOCK_ENTRY(_kt_entry_transpose, (transpose))
