// A program with kernels: what its host part needs must not be in their way.
#include "program.h"

#define CHECK(call)                                                       \
    do {                                                                  \
        cudaError_t status = call;                                        \
        if (status != cudaSuccess) {                                      \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status)); \
            exit(EXIT_FAILURE);                                           \
        }                                                                 \
    } while (0)
#define MAX_OF(a, b) ({ __typeof__(a) _a = (a); __typeof__(b) _b = (b); _a > _b ? _a : _b; })

// -- classes and templates of the host ----------------------------------------------------

template <class T>
struct Buffer {
    vector<T> values;
    explicit Buffer(int n);
    T* device();
};
template <class T>
Buffer<T>::Buffer(int n) : values(n) {}
template <class T>
T* Buffer<T>::device() {
    T* p;
    CHECK(cudaMalloc(&p, values.size() * sizeof(T)));
    return p;
}
template <class T>
class Printer {
public:
    void print(T x) { cout << x << endl; }
};
template <>
class Printer<char> {
public:
    int width;
};
template struct Buffer<float>;

struct Session {
    int count;
    void open();
    void run();
};
void Session::run() { open(); }

// -- what kernels use of what is around them ----------------------------------------------

struct Element : public Shared {
    int key;
    float weight;
};

struct Queue {
    int first;
    std::atomic_int* waiting;
    int last;
};
__device__ int length(const Queue* q) { return q->last - q->first; }

struct Weights {
    float near, far;
    friend ostream& operator<<(ostream& out, const Weights& w) { return out << w.near; }
};

const float lifting = -1.586134342f;
const float undo_lifting = -lifting;
static const double steps_per_turn = 4, step = 1 / steps_per_turn;

__device__ void store(unsigned long* p, unsigned long x) { *p = x; }

#if CUDART_VERSION >= 11000
__global__ void scale_elements(Element* e, Weights w, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) e[i].weight *= e[i].key > 0 ? w.near : w.far;
}
#endif

extern "C"__global__ void queue_lengths(int* x, Queue q) { x[threadIdx.x] += length(&q); }

__global__ void lift(float* x) { x[threadIdx.x] = x[threadIdx.x] * undo_lifting + lifting; }

__global__ void count_up(uint64_t* x, std::size_t n) {
    register int i = threadIdx.x;
    if (i < n) store(x + i, std::max<uint64_t>(x[i], UINT64_C(5)));
}

__global__ void largest(const int* x, int* y) {
    const int i = threadIdx.x;
    y[i] = MAX_OF(x[i], MAX_OF(x[i + 1], 3));
    Weights w = {.near = 1, .far = 2};
    y[i] += w.far;
}

__global__ void offsets_of_rows(cudaPitchedPtr p, size_t* offsets) {
    if (threadIdx.x < p.ysize) offsets[threadIdx.x] = p.ptr ? 1 : threadIdx.x * p.pitch + p.xsize;
}

__global__ void conjugate(cufftComplex* x, __half* h, cuDoubleComplex* z) {
    const int i = threadIdx.x;
    x[i].y = -x[i].y;
    h[i] = __float2half(2 * __half2float(h[i]));
    z[i] = cuConj(z[i]);
}

template <size_t N>
__global__ void add_size(int* x) {
    x[threadIdx.x] += N;
}

// Functors that only the host's part names.
struct Squares {
    __device__ int operator()(int x) const { return x * x; }
};
template <class F>
__global__ void apply(F f, int* x) {
    x[threadIdx.x] = f(x[threadIdx.x]);
}

// -- the host -----------------------------------------------------------------------------

void CUDART_CB finished(cudaStream_t stream, cudaError_t error, void* data) { CHECK(error); }

void Session::open() {
    int* p;
    CHECK(cudaMalloc(&p, 4));
    /*  #ifdef TESTING
    add_size<1><<<2, 2>>>(p);
        #endif
    */
    apply<<<1, 1>>>(Squares(), p);
}
static Session session;

int main(int argc, char** argv) {
    Timer timer;
    Buffer<float> buffer(100);
    lift<<<1, 100>>>(buffer.device());
    Printer<double>().print(timer.elapsed());
    session.run();
    return 0;
}
