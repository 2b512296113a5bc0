// Thrust's algorithms within a thread, one row of numbers each.
#include <thrust/binary_search.h>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/functional.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

extern "C" __global__ void rows(const int* x, int* sorted, int* order, int* scanned, int* found,
                                int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    x += i * n;
    sorted += i * n;
    order += i * n;
    scanned += i * n;
    found += i * 4;
    thrust::transform(thrust::seq, x, x + n, sorted, thrust::negate<int>());
    thrust::sequence(thrust::seq, order, order + n);
    thrust::sort_by_key(thrust::seq, sorted, sorted + n, order);
    thrust::exclusive_scan(thrust::seq, x, x + n, scanned, 7, thrust::plus<int>());
    found[0] = thrust::reduce(thrust::seq, x, x + n, -1000, thrust::maximum<int>());
    found[1] = thrust::reduce(thrust::seq, x, x + n);
    found[2] = thrust::max_element(thrust::seq, x, x + n) - x;
    found[3] = thrust::lower_bound(thrust::seq, sorted, sorted + n, 0) - sorted;
}
