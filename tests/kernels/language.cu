// What C++ has: control flow, structs, unions, classes, recursion, many types.

union Word {
    unsigned int whole;
    unsigned short halves[2];
    unsigned char bytes[4];
};

struct Box {
    float low[3];
    float high[3];
    int id;
};

struct Settings {
    double scale;
    int first;
    char flag;
    short steps[3];
};

// Structs by value, with gaps between their members.
extern "C" __global__ void by_value(Box box, Settings settings, const float* points, double* out,
                                    int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    bool inside = true;
    for (int k = 0; k < 3; ++k) {
        const float x = points[3 * i + k];
        inside = inside && x >= box.low[k] && x < box.high[k];
    }
    out[i] = inside ? box.id * settings.scale + settings.first : settings.steps[i % 3];
    if (settings.flag == 'n') out[i] = -out[i];
}

struct __align__(16) Particle {
    float3 position;
    float mass;
    float3 velocity;
    int alive;
};

// Pointers to structs.
extern "C" __global__ void move_particles(Particle* particles, float dt, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Particle* p = &particles[i];
    if (!p->alive) return;
    p->position.x += p->velocity.x * dt;
    p->position.y += p->velocity.y * dt;
    p->position.z += p->velocity.z * dt;
    if (p->position.z < 0.0f) {
        p->alive = 0;
        p->mass = 0.0f;
    }
}

extern "C" __global__ void logic(const bool* a, const bool* b, bool* out, int n, bool invert)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[0 * n + i] = a[i] && b[i];
    out[1 * n + i] = a[i] || b[i];
    out[2 * n + i] = a[i] != b[i];
    out[3 * n + i] = invert ? !a[i] : a[i];
    out[4 * n + i] = a[i] + b[i] + 1;
}

// A pointer that may be null.
extern "C" __global__ void masked_add(const float* x, const float* y, const unsigned char* mask,
                                      float* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (mask != nullptr && !mask[i]) {
        out[i] = x[i];
        return;
    }
    out[i] = x[i] + y[i];
}

// Every kind of number as an argument by value.
extern "C" __global__ void scalars(signed char a, unsigned char b, short c, unsigned short d, int e,
                                   unsigned int f, long long g, unsigned long long h, float i,
                                   double j, bool k, char l, size_t m, double* out)
{
    if (threadIdx.x != 0) return;
    const double values[] = {
        static_cast<double>(a), static_cast<double>(b), static_cast<double>(c),
        static_cast<double>(d), static_cast<double>(e), static_cast<double>(f),
        static_cast<double>(g), static_cast<double>(h), static_cast<double>(i),
        j,                      k ? 1.0 : 0.0,          static_cast<double>(l),
        static_cast<double>(m),
    };
    for (int v = 0; v < 13; ++v) out[v] = values[v];
}

__device__ int gcd(int a, int b)
{
    return b == 0 ? a : gcd(b, a % b);
}

__device__ __noinline__ unsigned int ackermann(unsigned int m, unsigned int n)
{
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

extern "C" __global__ void recursion(const int* a, const int* b, int* divisors,
                                     unsigned int* values, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    divisors[i] = gcd(a[i], b[i]);
    values[i] = ackermann(2, static_cast<unsigned int>(i % 6));
}

// Objects of classes with virtual functions, made by the kernel itself.
class Shape {
public:
    __device__ virtual int area() const = 0;
    __device__ virtual int corners() const { return 0; }
};

class Rectangle : public Shape {
public:
    __device__ Rectangle(int w, int h) : width(w), height(h) {}
    __device__ int area() const override { return width * height; }
    __device__ int corners() const override { return 4; }

private:
    int width;
    int height;
};

class Disc : public Shape {
public:
    __device__ explicit Disc(int r) : radius(r) {}
    __device__ int area() const override { return 3 * radius * radius; }

private:
    int radius;
};

extern "C" __global__ void areas(const int* sizes, int* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const Rectangle rectangle(sizes[i], i);
    const Disc disc(sizes[i]);
    const Shape* shape = &disc;
    if (i % 2) shape = &rectangle;
    out[i] = shape->area() * 10 + shape->corners();
}

// Calls through a table of functions.
typedef int (*Operation)(int, int);

__device__ int plus(int a, int b) { return a + b; }
__device__ int minus(int a, int b) { return a - b; }
__device__ int times(int a, int b) { return a * b; }

// Offsets beyond what 32 bits hold, brought back into the array.
extern "C" __global__ void wide_offsets(const unsigned char* data, long long period,
                                        unsigned char* out, int n)
{
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const long long far = i * 3000000019LL + (1LL << 40);
    const size_t place = static_cast<size_t>(far % period);
    out[i] = data[place];
}
