// CUB within kernels: sorts by comparisons.
#include <cub/block/block_merge_sort.cuh>
#include <cub/warp/warp_merge_sort.cuh>

struct ByTens {
    template <class T>
    __device__ bool operator()(const T& x, const T& y) { return x / 10 > y / 10; }
};
struct Point {
    float x;
    int y;
};
struct ByPlace {
    __device__ bool operator()(Point a, Point b) const { return a.x < b.x || (a.x == b.x && a.y < b.y); }
};

// Keys alone, keys with values, and as many of both as are valid.
template <int X, int N, int Y>
__global__ void blocks(const int* x, int valid, int last, int* keys, short* values)
{
    using Sort = cub::BlockMergeSort<int, X, N, short, Y>;
    using KeySort = cub::BlockMergeSort<int, X, N, cub::NullType, Y>;
    __shared__ union {
        typename Sort::TempStorage pairs;
        typename KeySort::TempStorage keys;
    } storage;
    constexpr int ITEMS = X * Y * N;
    const int first = (threadIdx.x + threadIdx.y * X) * N;
    x += blockIdx.x * ITEMS;
    keys += blockIdx.x * 8 * ITEMS;
    values += blockIdx.x * 4 * ITEMS;
    for (int way = 0; way < 8; ++way) {
        int own[N];
        short numbers[N];
        for (int k = 0; k < N; ++k) own[k] = x[first + k];
        for (int k = 0; k < N; ++k) numbers[k] = first + k;
        __syncthreads();
        if (way == 0) KeySort(storage.keys).Sort(own, ByTens());
        if (way == 1) KeySort(storage.keys).StableSort(own, ByTens());
        if (way == 2) KeySort(storage.keys).Sort(own, ByTens(), valid, last);
        if (way == 3) KeySort().StableSort(own, ByTens(), valid, last);
        if (way == 4) Sort(storage.pairs).Sort(own, numbers, ByTens());
        if (way == 5) Sort(storage.pairs).StableSort(own, numbers, ByTens());
        if (way == 6) Sort(storage.pairs).Sort(own, numbers, ByTens(), valid, last);
        if (way == 7) Sort(storage.pairs).StableSort(own, numbers, ByTens(), valid, last);
        for (int k = 0; k < N; ++k) {
            keys[way * X * Y * N + first + k] = own[k];
            if (way >= 4) values[(way - 4) * X * Y * N + first + k] = numbers[k];
        }
    }
}

template <int THREADS, int N>
__global__ void warps(const int* x, int valid, int last, int* keys, short* values)
{
    using Sort = cub::WarpMergeSort<int, N, THREADS, short>;
    using KeySort = cub::WarpMergeSort<int, N, THREADS>;
    __shared__ typename Sort::TempStorage pairs[64 / THREADS];
    __shared__ typename KeySort::TempStorage alone[64 / THREADS];
    const int group = threadIdx.x / THREADS, first = threadIdx.x * N;
    for (int way = 0; way < 4; ++way) {
        int own[N];
        short numbers[N];
        for (int k = 0; k < N; ++k) own[k] = x[first + k];
        for (int k = 0; k < N; ++k) numbers[k] = first % (THREADS * N) + k;
        __syncwarp();
        if (way == 0) KeySort(alone[group]).Sort(own, ByTens());
        if (way == 1) KeySort(alone[group]).StableSort(own, ByTens(), valid, last);
        if (way == 2) Sort(pairs[group]).StableSort(own, numbers, ByTens());
        if (way == 3) Sort(pairs[group]).Sort(own, numbers, ByTens(), valid, last);
        for (int k = 0; k < N; ++k) {
            keys[way * 64 * N + first + k] = own[k];
            if (way >= 2) values[(way - 2) * 64 * N + first + k] = numbers[k];
        }
    }
}

extern "C" __global__ void points(Point* points)
{
    using Sort = cub::BlockMergeSort<Point, 64, 2>;
    __shared__ typename Sort::TempStorage storage;
    Point own[2] = {points[threadIdx.x * 2], points[threadIdx.x * 2 + 1]};
    Sort(storage).Sort(own, ByPlace());
    points[threadIdx.x * 2] = own[0];
    points[threadIdx.x * 2 + 1] = own[1];
}
