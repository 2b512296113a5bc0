// Inline PTX as CUDA programs have it: special registers, memory, warps, barriers, matrices.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

__device__ __forceinline__ unsigned lane_id()
{
    unsigned lane;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
}

extern "C" __global__ void special_registers(unsigned* out)
{
    unsigned* o = out + (blockIdx.x * blockDim.x + threadIdx.x) * 8;
    o[0] = lane_id();
    asm("mov.u32 %0, %tid.x;" : "=r"(o[1]));
    asm("mov.u32 %0, %ntid.x;"
        : "=r"(o[2]));
    asm("mov.u32 %0, %ctaid.x;" : "=r"(o[3]));
    asm("mov.u32 %0, %nctaid.x;" : "=r"(o[4]));
    asm("mov.u32 %0, %%lanemask_eq;" : "=r"(o[5]));
    asm("mov.u32 %0, %lanemask_lt;" : "=r"(o[6]));
    asm("mov.u32 %0, %lanemask_ge;" : "=r"(o[7]));
    unsigned long long before, after;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(before));
    asm volatile("membar.gl;" ::: "memory");
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(after));
    if (after < before) o[0] = 99;
}

__device__ __forceinline__ uint32_t shared_address(const void* pointer)
{
    return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ float4 load_streaming(const float4* from)
{
    float4 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "l"(from));
    return v;
}

// 64 threads, each with four elements.
extern "C" __global__ void memory(const float* x, const short* narrow, float* out, int* extended)
{
    __shared__ __align__(16) float tile[256];
    const int i = threadIdx.x;
    float4 v = load_streaming(reinterpret_cast<const float4*>(x) + i);
    v.x *= 2; v.y *= 2; v.z *= 2; v.w *= 2;
    asm volatile("st.global.cs.v4.f32 [%0], {%1, %2, %3, %4};"
                 :: "l"(out + 4 * i), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory");

    // Copied without a register in between; the size, and how much of it is there.
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                 :: "r"(shared_address(tile + 4 * i)), "l"(x + 4 * i));
    asm volatile("cp.async.commit_group;");
    asm volatile("cp.async.wait_group %0;" :: "n"(0));
    asm volatile("bar.sync 0;" ::: "memory");
    for (int k = 0; k < 4; ++k) {
        float value;
        asm volatile("ld.shared.f32 %0, [%1 + 4];"
                     : "=f"(value) : "r"(shared_address(tile + 255 - (4 * i + k)) - 4));
        out[256 + 4 * i + k] = value;
    }
    asm volatile("bar.sync 0;" ::: "memory");
    asm volatile("{ .reg .u64 wide; cvta.to.shared.u64 wide, %0;\n"
                 "  cp.async.ca.shared.global [wide], [%1], 16, %2; }"
                 :: "l"(tile + 4 * i), "l"(x + 4 * i), "r"(12));
    asm volatile("cp.async.wait_all;" ::: "memory");
    // Of the last one a predicate says that there is nothing.
    asm volatile("{ .reg .pred none; setp.eq.u32 none, %2, 63;\n"
                 "  @none cp.async.ca.shared.global [%0], [%1], 16, none; }"
                 :: "r"(shared_address(tile + 4 * i)), "l"(x + 4 * i), "r"(i));
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    for (int k = 0; k < 4; ++k) out[512 + 4 * i + k] = tile[4 * i + k];

    if (i == 0) {
        asm volatile("prefetch.global.L2 [%0];" :: "l"(narrow));
        asm volatile("ld.global.s16 %0, [%1];" : "=r"(extended[0]) : "l"(narrow));
        asm volatile("ld.volatile.global.u16 %0, [%1];" : "=r"(extended[1]) : "l"(narrow));
        asm volatile("ld.global.ca.b16 %0, [%1 + 2];" : "=r"(extended[2]) : "l"(narrow));
        asm volatile("ld.global.s8 %0, [%1 + 2];" : "=r"(extended[3]) : "l"(narrow));
    }
}

extern "C" __global__ void atomics(unsigned* words, float* total)
{
    unsigned old;
    asm volatile("atom.global.add.u32 %0, [%1], 1;" : "=r"(old) : "l"(words) : "memory");
    asm volatile("red.global.max.u32 [%0], %1;"
                 :: "l"(words + 1), "r"(blockIdx.x * blockDim.x + threadIdx.x) : "memory");
    asm volatile("red.relaxed.gpu.global.and.b32 [%0], %1;"
                 :: "l"(words + 2), "r"(~(1u << (threadIdx.x % 32))));
    asm volatile("red.or.b32 [%0], %1;" :: "l"(words + 3), "r"(1u << (threadIdx.x % 32)));
    asm volatile("atom.cas.b32 %0, [%1], 7, 99;" : "=r"(old) : "l"(words + 4));
    asm volatile("red.global.add.f32 [%0], 0f3F000000;" :: "l"(total) : "memory");
}

extern "C" __global__ void warps(unsigned* out)
{
    const unsigned lane = lane_id();
    unsigned value, inside, to;
    asm volatile("{ .reg .pred p; shfl.sync.down.b32 %0|p, %2, 3, 0x1807, 0xffffffff;\n"
                 "  selp.u32 %1, 1, 0, p; }" : "=r"(value), "=r"(inside) : "r"(lane));
    out[lane] = value * 2 + inside;
    asm volatile("shfl.sync.up.b32 %0, %1, 2, 0, -1;" : "=r"(to) : "r"(lane));
    out[32 + lane] = to;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;"
                 : "=r"(to) : "r"(lane), "r"(5));
    out[64 + lane] = to;
    asm volatile("shfl.sync.idx.b32 %0, %1, 2, 0x181f, 0xffffffff;" : "=r"(to) : "r"(lane));
    out[96 + lane] = to;
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, 0xffffffff; }"
                 : "=r"(to) : "r"(lane & 1));
    out[128 + lane] = to;
    asm volatile("{ .reg .pred p, q, r; setp.lt.u32 p, %1, 32; vote.sync.all.pred q, p, -1;\n"
                 "  setp.eq.u32 p, %1, 9; vote.sync.any.pred r, p, -1;\n"
                 "  selp.u32 %0, 1, 0, q; @r add.u32 %0, %0, 2; }" : "=r"(to) : "r"(lane));
    out[160 + lane] = to;
    asm volatile("match.any.sync.b32 %0, %1, 0xffffffff;" : "=r"(to) : "r"(lane % 3));
    out[192 + lane] = to;
    asm volatile("redux.sync.add.u32 %0, %1, 0xffffffff;" : "=r"(to) : "r"(lane));
    out[224 + lane] = to;
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }"
                 : "=r"(to));
    out[256 + lane] = to;
}

// One half of the block makes numbers, the other takes them; each waits for the other only.
extern "C" __global__ void barriers(int* out, int steps)
{
    __shared__ int slot[64];
    const int k = threadIdx.x % 64;
    if (threadIdx.x < 64) {
        for (int step = 0; step < steps; ++step) {
            asm volatile("bar.sync 1, 128;" ::: "memory");
            slot[k] = 100 * step + k;
            asm volatile("bar.arrive %0, %1;" :: "r"(2), "n"(128) : "memory");
        }
    } else {
        int sum = 0;
        for (int step = 0; step < steps; ++step) {
            asm volatile("bar.arrive 1, 128;" ::: "memory");
            asm volatile("barrier.sync 2, 128;" ::: "memory");
            sum += slot[k];
        }
        out[threadIdx.x] = sum;
    }
}

__device__ void store_products(const float* d, int* out)
{
    const int row = threadIdx.x / 4, column = threadIdx.x % 4 * 2;
    for (int n = 0; n < 4; ++n)
        out[(row + n / 2 * 8) * 8 + column + n % 2] = static_cast<int>(d[n]);
}

__device__ void load_sums(float* sums, const int* c)
{
    const int row = threadIdx.x / 4, column = threadIdx.x % 4 * 2;
    for (int n = 0; n < 4; ++n)
        sums[n] = static_cast<float>(c[(row + n / 2 * 8) * 8 + column + n % 2]);
}

// Rows of A and columns of B in shared memory, from where ldmatrix takes them.
extern "C" __global__ void mma_half(const int* a, const int* b, const int* c, int* d)
{
    __shared__ __align__(16) half left[16][16], right[16][8];
    for (int k = threadIdx.x; k < 256; k += 32) left[k / 16][k % 16] = __int2half_rn(a[k]);
    for (int k = threadIdx.x; k < 128; k += 32) right[k / 8][k % 8] = __int2half_rn(b[k]);
    __syncwarp();
    uint32_t x[4], y[2];
    float sums[4];
    load_sums(sums, c);
    const int lane = threadIdx.x;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(shared_address(&left[lane % 16][lane / 16 * 8])));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(y[0]), "=r"(y[1]) : "r"(shared_address(&right[lane % 16][0])));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
    store_products(sums, d);
}

extern "C" __global__ void mma_bfloat(const int* a, const int* b, const int* c, int* d)
{
    const int row = threadIdx.x / 4, t = threadIdx.x % 4;
    float sums[4];
    load_sums(sums, c);
    // Two products of half the depth.
    for (int half = 0; half < 2; ++half) {
        __nv_bfloat162 x[2], y;
        const int k = 8 * half + 2 * t;
        for (int n = 0; n < 2; ++n)
            x[n] = __floats2bfloat162_rn(a[(row + 8 * n) * 16 + k], a[(row + 8 * n) * 16 + k + 1]);
        y = __floats2bfloat162_rn(b[k * 8 + row], b[(k + 1) * 8 + row]);
        const uint32_t* left = reinterpret_cast<const uint32_t*>(x);
        asm("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 "
            "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};"
            : "=f"(sums[0]), "=f"(sums[1]), "=f"(sums[2]), "=f"(sums[3])
            : "r"(left[0]), "r"(left[1]), "r"(*reinterpret_cast<const uint32_t*>(&y)),
              "f"(sums[0]), "f"(sums[1]), "f"(sums[2]), "f"(sums[3]));
    }
    store_products(sums, d);
}

extern "C" __global__ void mma_tf32(const int* a, const int* b, const int* c, int* d)
{
    const int row = threadIdx.x / 4, t = threadIdx.x % 4;
    float sums[4];
    load_sums(sums, c);
    uint32_t x[4], y[2];
    for (int n = 0; n < 4; ++n) {
        const float value = a[(row + n % 2 * 8) * 8 + t + n / 2 * 4];
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(x[n]) : "f"(value));
    }
    for (int n = 0; n < 2; ++n) {
        const float value = b[(t + 4 * n) * 8 + row];
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y[n]) : "f"(value));
    }
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
    store_products(sums, d);
}

extern "C" __global__ void mma_bytes(const int* a, const int* b, const int* c, int* d)
{
    const int row = threadIdx.x / 4, t = threadIdx.x % 4;
    int sums[4];
    for (int n = 0; n < 4; ++n) sums[n] = c[(row + n / 2 * 8) * 8 + t * 2 + n % 2];
    uint32_t x[4], y[2];
    for (int n = 0; n < 4; ++n) {
        const int* from = a + (row + n % 2 * 8) * 32 + 4 * t + n / 2 * 16;
        x[n] = (from[0] & 255) | (from[1] & 255) << 8 | (from[2] & 255) << 16
             | static_cast<uint32_t>(from[3]) << 24;
    }
    for (int n = 0; n < 2; ++n) {
        const int* from = b + (4 * t + 16 * n) * 8 + row;
        y[n] = (from[0] & 255) | (from[8] & 255) << 8 | (from[16] & 255) << 16
             | static_cast<uint32_t>(from[24]) << 24;
    }
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
    for (int n = 0; n < 4; ++n) d[(row + n / 2 * 8) * 8 + t * 2 + n % 2] = sums[n];
}

template <int BYTES>
__device__ __forceinline__ void copy_async(void* to, const void* from, bool is_there)
{
    asm volatile("{\n"
                 "    .reg .pred p;\n"
                 "    setp.ne.b32 p, %0, 0;\n"
                 "    @p cp.async.ca.shared.global [%1], [%2], %3;\n"
                 "}\n"
                 :: "r"(int{is_there}), "r"(shared_address(to)), "l"(from), "n"(BYTES));
}

// 32 threads: operands that are constants, evaluated once, and results that depend on each other.
extern "C" __global__ void operands(const unsigned* x, unsigned* out)
{
    __shared__ __align__(16) unsigned tile[128];
    const int i = threadIdx.x;
    for (int k = 0; k < 4; ++k) tile[4 * i + k] = 7;
    copy_async<16>(tile + 4 * i, x + 4 * i, i % 2 == 0);
    const int rest = 8;
    if (i % 4 == 1)
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                     :: "r"(shared_address(tile + 4 * i)), "l"(x + 4 * i), "n"(16), "r"(rest));
    asm volatile("cp.async.wait_all;" ::: "memory");
    unsigned second, last;
    asm volatile("ld.shared.u32 %0, [%2 + %3]; ld.shared.u32 %1, [%2+8+4];"
                 : "=r"(second), "=r"(last) : "r"(shared_address(tile + 4 * i)), "n"(4));
    out[i] = second;
    out[32 + i] = last;

    unsigned counts[4] = {0, 10, 20, 30};
    int k = 1;
    asm("add.u32 %0, %0, %1;" : "+r"(counts[k++]) : "r"(5u));
    out[64 + i] = counts[1] + 100 * k;
    unsigned place = 2;
    asm("mov.u32 %0, 3; mov.u32 %1, 77;" : "=r"(place), "=r"(counts[place]));
    out[96 + i] = counts[2] + 100 * place;
}

// A last warp that has fewer lanes counts as a whole one: 48 threads.
extern "C" __global__ void partial_warp(int* out)
{
    __shared__ int tile[48];
    const int i = threadIdx.x;
    tile[i] = i;
    asm volatile("bar.sync 2, 64;" ::: "memory");
    const int other = tile[47 - i];
    asm volatile("bar.sync 3;" ::: "memory");
    tile[i] = 2 * other;
    asm volatile("barrier.sync 4, 64;" ::: "memory");
    out[i] = tile[47 - i];
}

// Arrivals that nobody waits for end with their block.
extern "C" __global__ void late_arrivals(int* out, int waits)
{
    __shared__ int tile[32];
    const int i = threadIdx.x;
    if (i < 32) tile[i] = 0;
    __syncthreads();
    if (i >= 32) {
        tile[i - 32] = i;
        asm volatile("bar.arrive 1, 64;" ::: "memory");
    } else if (waits) {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        out[32 * blockIdx.x + i] = tile[i];
    }
}
