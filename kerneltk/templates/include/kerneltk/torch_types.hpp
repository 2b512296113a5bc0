// Types and macros of torch's headers for device code, for files that are written as its extensions:
// those headers themselves are for the host. Members lie as torch has them, so that a structured
// scalar can be given for an accessor.
// <cuda_fp16.h>, <cuda_bf16.h> and <tuple> come before it.
#pragma once

namespace c10 {
// Of a number of 16 bits and another: a float or a double is the result's type, an int is not.
#define KERNELTK_TORCH_MIXED(Name, T, R, op)                                                      \
    static __forceinline__ __host__ __device__ R operator op(Name a, T b) {                       \
        return static_cast<R>(static_cast<T>(static_cast<float>(a)) op b);                        \
    }                                                                                             \
    static __forceinline__ __host__ __device__ R operator op(T a, Name b) {                       \
        return static_cast<R>(a op static_cast<T>(static_cast<float>(b)));                        \
    }
#define KERNELTK_TORCH_OPERATOR(Name, op)                                                         \
    static __forceinline__ __host__ __device__ Name operator op(Name a, Name b) {                 \
        return float(a) op float(b);                                                              \
    }                                                                                             \
    static __forceinline__ __host__ __device__ Name& operator op##=(Name& a, Name b) {            \
        return a = a op b;                                                                        \
    }                                                                                             \
    KERNELTK_TORCH_MIXED(Name, float, float, op)                                                  \
    KERNELTK_TORCH_MIXED(Name, double, double, op)                                                \
    static __forceinline__ __host__ __device__ Name operator op(Name a, int b) {                  \
        return a op static_cast<Name>(static_cast<float>(b));                                     \
    }                                                                                             \
    static __forceinline__ __host__ __device__ Name operator op(int a, Name b) {                  \
        return static_cast<Name>(static_cast<float>(a)) op b;                                     \
    }
#define KERNELTK_TORCH_FLOAT(Name, Raw, to_float, from_float)                                     \
    struct alignas(2) Name {                                                                      \
        unsigned short x;                                                                         \
        Name() = default;                                                                         \
        __host__ __device__ Name(float value) : Name(from_float(value)) {}                        \
        __host__ __device__ Name(const Raw& value) {                                              \
            x = *reinterpret_cast<const unsigned short*>(&value);                                 \
        }                                                                                         \
        __host__ __device__ operator float() const {                                              \
            return to_float(*reinterpret_cast<const Raw*>(&x));                                   \
        }                                                                                         \
        __host__ __device__ operator Raw() const { return *reinterpret_cast<const Raw*>(&x); }    \
    };                                                                                            \
    static __forceinline__ __host__ __device__ Name operator-(Name a) { return -float(a); }       \
    KERNELTK_TORCH_OPERATOR(Name, +)                                                              \
    KERNELTK_TORCH_OPERATOR(Name, -)                                                              \
    KERNELTK_TORCH_OPERATOR(Name, *)                                                              \
    KERNELTK_TORCH_OPERATOR(Name, /)
KERNELTK_TORCH_FLOAT(Half, __half, __half2float, __float2half)
KERNELTK_TORCH_FLOAT(BFloat16, __nv_bfloat16, __bfloat162float, __float2bfloat16)
}  // namespace c10

namespace at {
using c10::BFloat16;
using c10::Half;

template <class T>
struct DefaultPtrTraits {
    typedef T* PtrType;
};
template <class T>
struct RestrictPtrTraits {
    typedef T* __restrict__ PtrType;
};

// The type in which sums of a type are taken, on GPUs or by torch on the host: of integers a long.
template <class T, bool is_cuda>
struct AccumulateType {
    typedef T type;
};
#define KERNELTK_TORCH_ACCUMULATE(T, A)    \
    template <bool is_cuda>                \
    struct AccumulateType<T, is_cuda> {    \
        typedef A type;                    \
    };
KERNELTK_TORCH_ACCUMULATE(Half, float)
KERNELTK_TORCH_ACCUMULATE(BFloat16, float)
KERNELTK_TORCH_ACCUMULATE(char, long)
KERNELTK_TORCH_ACCUMULATE(signed char, long)
KERNELTK_TORCH_ACCUMULATE(unsigned char, long)
KERNELTK_TORCH_ACCUMULATE(short, long)
KERNELTK_TORCH_ACCUMULATE(int, long)
#undef KERNELTK_TORCH_ACCUMULATE
template <>
struct AccumulateType<float, false> {
    typedef double type;
};
template <class T, bool is_cuda>
using acc_type = typename AccumulateType<T, is_cuda>::type;
// The type in which single values are computed.
template <class T>
struct OpMathType {
    typedef T type;
};
template <>
struct OpMathType<Half> : AccumulateType<Half, true> {};
template <>
struct OpMathType<BFloat16> : AccumulateType<BFloat16, true> {};
template <class T>
using opmath_type = typename OpMathType<T>::type;

template <class T, decltype(sizeof(0)) N, template <class> class P = DefaultPtrTraits,
          class I = long>
class TensorAccessor;

// Sizes and strides are the object's own, or elsewhere.
template <class T, decltype(sizeof(0)) N, template <class> class P, class I, class Numbers>
class _kt_accessor {
public:
    typedef typename P<T>::PtrType PtrType;
    __host__ __device__ auto operator[](I i) const -> decltype(auto) {
        if constexpr (N == 1) {
            return static_cast<T&>(data_[strides_[0] * i]);
        } else {
            return TensorAccessor<T, N - 1, P, I>(data_ + strides_[0] * i, sizes_ + 1, strides_ + 1);
        }
    }
    __host__ __device__ I size(I i) const { return sizes_[i]; }
    __host__ __device__ I stride(I i) const { return strides_[i]; }
    __host__ __device__ PtrType data() const { return data_; }

    PtrType data_;
    Numbers sizes_, strides_;
};
template <class T, decltype(sizeof(0)) N, template <class> class P, class I>
class TensorAccessor : public _kt_accessor<T, N, P, I, const I*> {
public:
    __host__ __device__ TensorAccessor(typename P<T>::PtrType data, const I* sizes,
                                       const I* strides)
        : _kt_accessor<T, N, P, I, const I*>{data, sizes, strides} {}
};
template <class T, decltype(sizeof(0)) N, template <class> class P = DefaultPtrTraits,
          class I = long>
class GenericPackedTensorAccessor : public _kt_accessor<T, N, P, I, I[N]> {};
template <class T, decltype(sizeof(0)) N, template <class> class P = DefaultPtrTraits>
using PackedTensorAccessor32 = GenericPackedTensorAccessor<T, N, P, int>;
template <class T, decltype(sizeof(0)) N, template <class> class P = DefaultPtrTraits>
using PackedTensorAccessor64 = GenericPackedTensorAccessor<T, N, P, long>;
template <class T, decltype(sizeof(0)) N, template <class> class P = DefaultPtrTraits,
          class I = long>
using PackedTensorAccessor = GenericPackedTensorAccessor<T, N, P, I>;

template <class T, class = void>
__host__ __device__ T ceil_div(T a, T b) {
    return (a + b - 1) / b;
}
template <class T>
__host__ __device__ bool _isnan(T x) {
    return x != x;
}
template <class T>
__host__ __device__ bool _isinf(T x) {
    return x - x != x - x && x == x;
}

namespace native {
namespace memory {
template <class T, int N>
struct alignas(sizeof(T) * N) aligned_vector {
    T val[N];
};
}  // namespace memory
namespace cuda_utils {
// The sum of a warp is its lane 0's, that of a block its thread 0's.
template <class T>
__device__ T WarpReduceSum(T x) {
    for (int distance = 16; distance > 0; distance /= 2)
        x += __shfl_down_sync(0xffffffff, x, distance);
    return x;
}
template <class T>
__device__ T BlockReduceSum(T x, T* shared) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    x = WarpReduceSum(x);
    __syncthreads();
    if (lane == 0) shared[warp] = x;
    __syncthreads();
    x = threadIdx.x < blockDim.x / 32 ? shared[lane] : T(0);
    return warp == 0 ? WarpReduceSum(x) : x;
}
}  // namespace cuda_utils
}  // namespace native

// Of the host; device code may take constants of classes that have one.
struct Tensor {
    void* impl;
};

// The seed and the offset of a generator, which a graph leaves in device memory.
struct PhiloxCudaState {
    union Payload {
        unsigned long val;
        long* ptr;
    };
    Payload seed_{}, offset_{};
    unsigned long offset_intragraph_ = 0;
    bool captured_ = false;
    PhiloxCudaState() = default;
    PhiloxCudaState(unsigned long seed, unsigned long offset) {
        seed_.val = seed;
        offset_.val = offset;
    }
};

namespace cuda {
template <class T>
__host__ __device__ T ATenCeilDiv(T a, T b) {
    return (a + b - 1) / b;
}
namespace philox {
// A seed and an offset.
inline __host__ __device__ std::tuple<unsigned long, unsigned long> unpack(
    const PhiloxCudaState& state) {
    if (!state.captured_) return {state.seed_.val, state.offset_.val};
    return {static_cast<unsigned long>(*state.seed_.ptr),
            static_cast<unsigned long>(*state.offset_.ptr) + state.offset_intragraph_};
}
}  // namespace philox
namespace detail {
// Data, sizes and strides of a tensor, which kernels take by value.
template <class T, class I>
struct TensorInfo {
    T* data;
    I sizes[25];
    I strides[25];
    int dims;
    __host__ __device__ bool isContiguous() const { return dims == 1 && strides[0] == 1; }
};
// The offset of an element by its number; as many dimensions as told, or -1 for those of `info`.
template <class T, class I, int Dims>
struct IndexToOffset {
    static __host__ __device__ I get(I number, const TensorInfo<T, I>& info) {
        I offset = 0;
        for (int i = (Dims < 0 ? info.dims : Dims) - 1; i > 0; --i) {
            offset += number % info.sizes[i] * info.strides[i];
            number /= info.sizes[i];
        }
        return offset + number * info.strides[0];
    }
};
}  // namespace detail
}  // namespace cuda
}  // namespace at

namespace torch {
using namespace at;
struct CustomClassHolder {};
namespace headeronly {
template <class T, decltype(sizeof(0)) N, template <class> class P = DefaultPtrTraits,
          class I = long>
using HeaderOnlyTensorAccessor = TensorAccessor<T, N, P, I>;
template <class T, decltype(sizeof(0)) N, template <class> class P = DefaultPtrTraits,
          class I = long>
using HeaderOnlyGenericPackedTensorAccessor = GenericPackedTensorAccessor<T, N, P, I>;
}  // namespace headeronly
}  // namespace torch

// <ATen/cuda/DeviceUtils.cuh>
#define KERNELTK_TORCH_SHUFFLE(name, function, operand)                                           \
    template <class T>                                                                            \
    static __forceinline__ __device__ T name(T value, operand from, int width = 32,               \
                                             unsigned int mask = 0xffffffff) {                    \
        return function(mask, value, from, width);                                                \
    }
KERNELTK_TORCH_SHUFFLE(WARP_SHFL, __shfl_sync, int)
KERNELTK_TORCH_SHUFFLE(WARP_SHFL_UP, __shfl_up_sync, unsigned int)
KERNELTK_TORCH_SHUFFLE(WARP_SHFL_DOWN, __shfl_down_sync, unsigned int)
KERNELTK_TORCH_SHUFFLE(WARP_SHFL_XOR, __shfl_xor_sync, int)
#undef KERNELTK_TORCH_SHUFFLE
static __forceinline__ __device__ unsigned int WARP_BALLOT(int predicate,
                                                           unsigned int mask = 0xffffffff) {
    return __ballot_sync(mask, predicate);
}
static __forceinline__ __device__ int WARP_ANY(int predicate, unsigned int mask = 0xffffffff) {
    return __any_sync(mask, predicate);
}
static __forceinline__ __device__ unsigned int WARP_ACTIVE() { return __activemask(); }

#define C10_HOST_DEVICE __host__ __device__
#define C10_DEVICE __device__
#define C10_HOST __host__
#define C10_ALWAYS_INLINE __forceinline__
#define C10_RESTRICT __restrict__
#define C10_LIKELY(condition) (__builtin_expect(static_cast<bool>(condition), 1))
#define C10_UNLIKELY(condition) (__builtin_expect(static_cast<bool>(condition), 0))
#define C10_WARP_SIZE 32
#define C10_LAUNCH_BOUNDS_0 __launch_bounds__(256)
#define C10_LAUNCH_BOUNDS_1(threads) __launch_bounds__(threads)
#define C10_LAUNCH_BOUNDS_2(threads, blocks) __launch_bounds__(threads)
#ifndef CUDA_KERNEL_ASSERT
#define CUDA_KERNEL_ASSERT(condition) \
    if (!(condition)) __trap()
#endif

#ifndef KERNELTK_TORCH_ATOMICS
#define KERNELTK_TORCH_ATOMICS
template <class T>
static __forceinline__ __device__ T gpuAtomicAdd(T* p, T x) {
    return atomicAdd(p, x);
}
static __forceinline__ __device__ c10::Half gpuAtomicAdd(c10::Half* p, c10::Half x) {
    return atomicAdd(reinterpret_cast<__half*>(p), __half(x));
}
template <class T>
static __forceinline__ __device__ void gpuAtomicAddNoReturn(T* p, T x) {
    gpuAtomicAdd(p, x);
}
#endif
