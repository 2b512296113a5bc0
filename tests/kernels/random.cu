// Random numbers and checksums: exact integers.

typedef unsigned int uint32;
typedef unsigned long long uint64;

__device__ uint32 xorshift32(uint32& state)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

extern "C" __global__ void xorshift(const uint32* seeds, uint32* out, int steps, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint32 state = seeds[i];
    for (int step = 0; step < steps; ++step) out[step * n + i] = xorshift32(state);
}

class Pcg32 {
public:
    __device__ Pcg32(uint64 seed, uint64 stream) : state(0), increment(stream << 1 | 1)
    {
        next();
        state += seed;
        next();
    }

    __device__ uint32 next()
    {
        const uint64 old = state;
        state = old * 6364136223846793005ULL + increment;
        const uint32 shifted = static_cast<uint32>(((old >> 18) ^ old) >> 27);
        const uint32 rotation = static_cast<uint32>(old >> 59);
        return shifted >> rotation | shifted << ((32 - rotation) & 31);
    }

    // In [0, 1), a multiple of 2⁻²⁴.
    __device__ float uniform() { return (next() >> 8) * (1.0f / 16777216.0f); }

private:
    uint64 state;
    uint64 increment;
};

extern "C" __global__ void pcg(uint64 seed, uint32* out, float* uniforms, int draws)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    Pcg32 generator(seed, i);
    for (int k = 0; k < draws; ++k) out[i * draws + k] = generator.next();
    uniforms[i] = generator.uniform();
}

__device__ uint4 philox_round(uint4 counter, uint2 key)
{
    const uint32 high0 = __umulhi(0xD2511F53u, counter.x);
    const uint32 low0 = 0xD2511F53u * counter.x;
    const uint32 high1 = __umulhi(0xCD9E8D57u, counter.z);
    const uint32 low1 = 0xCD9E8D57u * counter.z;
    return make_uint4(high1 ^ counter.y ^ key.x, low1, high0 ^ counter.w ^ key.y, low0);
}

extern "C" __global__ void philox(uint2 key, uint4* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint4 counter = make_uint4(i, 7u, 0u, ~0u);
    for (int round = 0; round < 10; ++round) {
        counter = philox_round(counter, key);
        key.x += 0x9E3779B9u;
        key.y += 0xBB67AE85u;
    }
    out[i] = counter;
}

// How many of a thread's points lie in the quarter of a circle; coordinates of 12 bits.
extern "C" __global__ void count_in_circle(const uint32* seeds, uint64* hits, int points)
{
    __shared__ uint32 block_hits;
    if (threadIdx.x == 0) block_hits = 0;
    __syncthreads();
    uint32 state = seeds[blockIdx.x * blockDim.x + threadIdx.x];
    uint32 mine = 0;
    for (int k = 0; k < points; ++k) {
        const uint32 bits = xorshift32(state);
        const uint32 x = bits & 0xfff;
        const uint32 y = bits >> 12 & 0xfff;
        mine += x * x + y * y < 4096u * 4096u;
    }
    atomicAdd(&block_hits, mine);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(hits, static_cast<uint64>(block_hits));
}

__constant__ uint32 crc_table[256];

// Fills the table: the caller need not.
extern "C" __global__ void crc_make_table(uint32* table)
{
    uint32 value = threadIdx.x;
    for (int bit = 0; bit < 8; ++bit) {
        value = value & 1 ? value >> 1 ^ 0xEDB88320u : value >> 1;
    }
    table[threadIdx.x] = value;
}

// CRC-32 of each row, with a table in constant memory.
extern "C" __global__ void crc_rows(const unsigned char* rows, int length, uint32* sums, int count)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= count) return;
    uint32 crc = 0xFFFFFFFFu;
    for (int k = 0; k < length; ++k) {
        crc = crc >> 8 ^ crc_table[(crc ^ rows[row * length + k]) & 0xff];
    }
    sums[row] = ~crc;
}

// FNV-1a of strings that lie one behind the other.
extern "C" __global__ void fnv_strings(const char* text, const int* starts, uint64* hashes,
                                       int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    uint64 hash = 0xcbf29ce484222325ULL;
    for (int k = starts[i]; k < starts[i + 1]; ++k) {
        hash ^= static_cast<unsigned char>(text[k]);
        hash *= 0x100000001b3ULL;
    }
    hashes[i] = hash;
}

// The finalizer of MurmurHash3.
extern "C" __global__ void mix_bits(uint32* values, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        uint32 h = values[i];
        h ^= h >> 16;
        h *= 0x85ebca6bu;
        h ^= h >> 13;
        h *= 0xc2b2ae35u;
        h ^= h >> 16;
        values[i] = h;
    }
}
