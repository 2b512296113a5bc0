// Templates, namespaces, functors and lambdas: kernels that are asked for by a name expression.

namespace ops {

struct Square {
    template <typename T>
    __device__ T operator()(T x) const
    {
        return x * x;
    }
};

template <int FACTOR>
struct Times {
    __device__ int operator()(int x) const { return x * FACTOR; }
    __device__ double operator()(double x) const { return x * FACTOR; }
};

enum class Rounding { down, up };

}  // namespace ops

template <typename T>
__global__ void fill(T* out, T value, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = value;
}

namespace filters {

template <typename T, int STEP = 2>
__global__ void difference(const T* in, T* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + STEP < n) out[i] = in[i + STEP] - in[i];
}

namespace detail {

__global__ void negate(const int* in, int* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = -in[i];
}

}  // namespace detail
}  // namespace filters

template <typename Op, typename T>
__global__ void transform(const T* in, T* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    Op op;
    if (i < n) out[i] = op(in[i]);
}

template <ops::Rounding MODE, bool SATURATE>
__global__ void halve(const int* in, unsigned char* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int half = MODE == ops::Rounding::down ? in[i] / 2 : (in[i] + 1) / 2;
    if constexpr (SATURATE) {
        half = half > 255 ? 255 : half;
    }
    out[i] = static_cast<unsigned char>(half);
}

template <typename... Ts>
__device__ auto sum_of(Ts... values)
{
    return (values + ...);
}

template <int... COEFFICIENTS>
__global__ void combine(const int* in, int* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int power = 1;
    auto next = [&power](int x) {
        const int current = power;
        power *= x;
        return current;
    };
    if (i < n) {
        int sum = 0;
        ((sum += COEFFICIENTS * next(in[i])), ...);
        out[i] = sum + sum_of(i, 1, 2);
    }
}

// Value semantics: a small vector class with operators.
template <typename T, int N>
class Vector {
public:
    __host__ __device__ Vector() : items{} {}
    __host__ __device__ explicit Vector(T value)
    {
        for (auto& item : items) item = value;
    }
    __host__ __device__ T& operator[](int k) { return items[k]; }
    __host__ __device__ const T& operator[](int k) const { return items[k]; }
    __host__ __device__ Vector& operator+=(const Vector& other)
    {
        for (int k = 0; k < N; ++k) items[k] += other[k];
        return *this;
    }
    __host__ __device__ friend Vector operator+(Vector a, const Vector& b) { return a += b; }
    __host__ __device__ friend Vector operator*(const Vector& a, T factor)
    {
        Vector result;
        for (int k = 0; k < N; ++k) result[k] = a[k] * factor;
        return result;
    }
    __host__ __device__ T dot(const Vector& other) const
    {
        T sum = T(0);
        for (int k = 0; k < N; ++k) sum += items[k] * other[k];
        return sum;
    }

private:
    T items[N];
};

template <typename T, int N>
__global__ void reflect(const T* points, T* out, T shift, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Vector<T, N> point;
    for (int k = 0; k < N; ++k) point[k] = points[i * N + k];
    const Vector<T, N> moved = point * T(-1) + Vector<T, N>(shift);
    for (int k = 0; k < N; ++k) out[i * (N + 1) + k] = moved[k];
    out[i * (N + 1) + N] = moved.dot(point);
}

// A function object of the caller's choice, and a lambda that captures.
template <typename T, typename Op>
__device__ T fold(const T* values, int n, T start, Op op)
{
    T result = start;
    for (int k = 0; k < n; ++k) result = op(result, values[k]);
    return result;
}

extern "C" __global__ void fold_rows(const int* matrix, int* out, int columns, int modulus)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    const int* values = matrix + row * columns;
    const auto add = [](int a, int b) { return a + b; };
    const auto horner = [modulus](int a, int b) { return (a * 31 + b % modulus) % modulus; };
    out[3 * row] = fold(values, columns, 0, add);
    out[3 * row + 1] = fold(values, columns, 7, horner);
    out[3 * row + 2] = fold(values, columns, 0, [](int a, int b) { return a > b ? a : b; });
}

// Specialisation by type.
template <typename T>
struct Limits;

template <>
struct Limits<short> {
    static constexpr short highest = 32767;
};

template <>
struct Limits<unsigned char> {
    static constexpr unsigned char highest = 255;
};

template <typename T>
__global__ void invert(const T* in, T* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = static_cast<T>(Limits<T>::highest - in[i]);
}

// Names that a careless runtime might take for itself.
#define N 3
#define T 4

extern "C" __global__ void k(int* x, int* y, int n, int begin, int end, int block, int args)
{
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = index; i < n; i += N * T) {
        y[i] = x[i] * begin + end - block * args;
    }
}

#undef N
#undef T
