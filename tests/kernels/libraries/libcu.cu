// libcu++ within kernels: atomics, barriers, pipelines, asynchronous copies, and its part of std.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>
#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/cstdint>
#include <cuda/std/limits>
#include <cuda/std/tuple>
#include <cuda/std/utility>
#include <cuda_pipeline.h>

namespace cg = cooperative_groups;

extern "C" __global__ void atomics(int* numbers, float* total, unsigned int* locked)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    cuda::atomic_ref<int, cuda::thread_scope_device> count(numbers[0]);
    count.fetch_add(2, cuda::std::memory_order_relaxed);
    cuda::atomic_ref<int, cuda::thread_scope_device> largest(numbers[1]), changed(numbers[2]);
    largest.fetch_max(i);
    int seen = changed.load(cuda::memory_order_relaxed);
    while (!changed.compare_exchange_weak(seen, seen + 3)) {
    }
    cuda::std::atomic_ref<float> sum(*total);
    sum.fetch_add(0.5f);

    // A lock, which one thread of the block has at a time.
    __shared__ cuda::atomic<int, cuda::thread_scope_block> lock;
    if (threadIdx.x == 0) lock.store(0, cuda::std::memory_order_relaxed);
    __syncthreads();
    for (bool done = false; !done;) {
        if (lock.exchange(1, cuda::memory_order_acquire) == 0) {
            locked[blockIdx.x] = locked[blockIdx.x] * 3 + 1;
            lock.store(0, cuda::memory_order_release);
            done = true;
        }
    }
    if (i == 0) {
        cuda::atomic<int, cuda::thread_scope_system> own(5);
        ++own;
        own += 4;
        own |= 16;
        numbers[3] = own.load() * 100 + own--;
    }
}

// One half of the block fills a buffer and the other sums it up, round by round.
extern "C" __global__ void barriers(const int* x, int* sums, int rounds)
{
    using barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ barrier filled, emptied;
    __shared__ int buffer[32];
    if (threadIdx.x == 0) {
        init(&filled, blockDim.x);
        init(&emptied, blockDim.x);
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        for (int round = 0; round < rounds; ++round) {
            if (round > 0) emptied.arrive_and_wait();
            buffer[threadIdx.x] = x[round * 32 + threadIdx.x];
            barrier::arrival_token token = filled.arrive();
            filled.wait(cuda::std::move(token));
        }
    } else {
        int sum = 0;
        for (int round = 0; round < rounds; ++round) {
            if (round > 0) (void)emptied.arrive();
            filled.arrive_and_wait();
            for (int k = 0; k < 32; ++k) sum += buffer[k] * (k % 7 + threadIdx.x);
        }
        sums[threadIdx.x - 32] = sum;
    }
}

extern "C" __global__ void copies(const int* x, int* out, int n)
{
    __shared__ __align__(16) int tile[256];
    __shared__ cuda::barrier<cuda::thread_scope_block> ready;
    auto block = cg::this_thread_block();
    if (block.thread_rank() == 0) init(&ready, block.size());
    block.sync();
    cuda::memcpy_async(block, tile, x, sizeof(int) * n, ready);
    ready.arrive_and_wait();
    for (int k = threadIdx.x; k < n; k += blockDim.x) out[k] = tile[n - 1 - k];
    block.sync();

    cuda::memcpy_async(block, tile, x, cuda::aligned_size_t<16>(sizeof(int) * n), ready);
    ready.wait(ready.arrive());
    for (int k = threadIdx.x; k < n; k += blockDim.x) out[n + k] = tile[k] * 2;
    block.sync();

    cg::memcpy_async(block, tile, x + n, sizeof(int) * n);
    cg::wait(block);
    for (int k = threadIdx.x; k < n; k += blockDim.x) out[2 * n + k] = tile[k ^ 1];
    block.sync();

    // Each thread copies four numbers, the last of which are not there.
    __pipeline_memcpy_async(tile + 4 * threadIdx.x, x + 4 * threadIdx.x, 16, 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    for (int k = threadIdx.x; k < n; k += blockDim.x) out[3 * n + k] = tile[k];
}

// Two stages, which the threads of the block fill and use together.
extern "C" __global__ void staged(const int* x, int* out, int batches)
{
    __shared__ int stages[2][64];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    int ahead = 0;
    for (int batch = 0; batch < batches; ++batch) {
        for (; ahead < batches && ahead < batch + 2; ++ahead) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, stages[ahead % 2], x + 64 * ahead, sizeof(int) * 64, pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        out[64 * batch + threadIdx.x] = stages[batch % 2][63 - threadIdx.x] + batch;
        pipe.consumer_release();
    }
}

// The first warp fills stages, the second uses them.
extern "C" __global__ void in_roles(const int* x, int* out, int batches)
{
    __shared__ int stages[2][32];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    const bool fills = threadIdx.x < 32;
    auto pipe = cuda::make_pipeline(
        block, &state, fills ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
    const int lane = threadIdx.x % 32;
    for (int batch = 0; batch < batches; ++batch) {
        if (fills) {
            pipe.producer_acquire();
            cuda::memcpy_async(&stages[batch % 2][lane], x + 32 * batch + lane, sizeof(int), pipe);
            pipe.producer_commit();
        } else {
            pipe.consumer_wait();
            out[32 * batch + lane] = stages[batch % 2][31 - lane];
            pipe.consumer_release();
        }
    }
}

extern "C" __global__ void latches(int* out)
{
    __shared__ int numbers[64];
    __shared__ char memory[sizeof(cuda::latch<cuda::thread_scope_block>)
                           + sizeof(cuda::counting_semaphore<cuda::thread_scope_block>) + 32];
    using latch = cuda::latch<cuda::thread_scope_block>;
    using semaphore = cuda::counting_semaphore<cuda::thread_scope_block>;
    const auto start = (reinterpret_cast<cuda::std::uintptr_t>(memory) + 15) / 16 * 16;
    latch* all = reinterpret_cast<latch*>(start);
    semaphore* places =
        reinterpret_cast<semaphore*>(start + (sizeof(latch) + 15) / 16 * 16);
    if (threadIdx.x == 0) {
        new (all) latch(blockDim.x);
        new (places) semaphore(1);
    }
    __syncthreads();
    places->acquire();
    out[64] += threadIdx.x;
    places->release();
    numbers[threadIdx.x] = threadIdx.x * 3;
    all->arrive_and_wait();
    out[threadIdx.x] = numbers[63 - threadIdx.x];
}

extern "C" __global__ void vocabulary(const unsigned int* x, int* out)
{
    const unsigned int v = x[threadIdx.x];
    cuda::std::array<int, 6> found = {
        cuda::std::popcount(v), cuda::std::countl_zero(v), static_cast<int>(cuda::std::rotl(v, 5)),
        static_cast<int>(cuda::std::bit_cast<float>(v | 0x3f800000u) > 0), 0, 0};
    const cuda::std::tuple<int, double> pair = cuda::std::make_tuple(7, 0.5);
    found[4] = cuda::std::get<0>(pair);
    found[5] = cuda::std::numeric_limits<cuda::std::int16_t>::max();
    static_assert(cuda::std::is_same<cuda::std::uint32_t, unsigned int>::value, "of 32 bits");
    for (cuda::std::size_t k = 0; k < found.size(); ++k) out[threadIdx.x * 6 + k] = found[k];
}
