// Numbers of cuRAND's device API: each thread draws from a state of its own.
#include <curand_kernel.h>

#define DRAWS 8

template <class State>
__global__ void draw(const unsigned long long* seeds, const unsigned long long* subsequences,
                     const unsigned long long* offsets, State* states, unsigned int* words,
                     float* uniforms, double* doubles, float* normals, double* wide_normals)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    State state;
    curand_init(seeds[i], subsequences[i], offsets[i], &state);
    states[i] = state;
    for (int k = 0; k < DRAWS; ++k) words[i * DRAWS + k] = curand(&state);
    for (int k = 0; k < DRAWS; ++k) uniforms[i * DRAWS + k] = curand_uniform(&state);
    for (int k = 0; k < DRAWS; ++k) doubles[i * DRAWS + k] = curand_uniform_double(&state);
    // The second number of a pair is kept; a pair by itself leaves it where it is.
    float* f = normals + i * DRAWS;
    f[0] = curand_normal(&state);
    const float2 pair = curand_normal2(&state);
    f[1] = pair.x;
    f[2] = pair.y;
    f[3] = curand_normal(&state);
    f[4] = curand_log_normal(&state, 0.5f, 0.25f);
    f[5] = curand_log_normal(&state, 0.5f, 0.25f);
    f[6] = curand_normal(&state);
    f[7] = curand_normal(&state);
    double* d = wide_normals + i * DRAWS;
    d[0] = curand_normal_double(&state);
    const double2 wide_pair = curand_normal2_double(&state);
    d[1] = wide_pair.x;
    d[2] = wide_pair.y;
    d[3] = curand_normal_double(&state);
    for (int k = 4; k < DRAWS; ++k) d[k] = curand_log_normal_double(&state, 0.5, 0.25);
}

template <class State>
__global__ void skip(unsigned long long seed, const unsigned long long* counts,
                     unsigned int* words)
{
    State state;
    curand_init(seed, 0, 3, &state);
    skipahead(counts[threadIdx.x], &state);
    words[threadIdx.x * 2] = curand(&state);
    skipahead_sequence(threadIdx.x, &state);
    words[threadIdx.x * 2 + 1] = curand(&state);
}

template <class State>
__global__ void poisson(const double* means, unsigned int* counts, int draws)
{
    State state;
    curand_init(2024, threadIdx.x, 0, &state);
    for (int k = 0; k < draws; ++k)
        counts[threadIdx.x * draws + k] = curand_poisson(&state, means[threadIdx.x]);
}

extern "C" __global__ void philox_fours(uint4* words, float4* floats, double4* doubles)
{
    curandStatePhilox4_32_10_t state;
    curand_init(42, 7, threadIdx.x, &state);
    const int i = threadIdx.x;
    words[2 * i] = curand4(&state);
    floats[2 * i] = curand_uniform4(&state);
    floats[2 * i + 1] = curand_normal4(&state);
    const double2 two = curand_uniform2_double(&state);
    doubles[2 * i] = make_double4(two.x, two.y, 0, 0);
    doubles[2 * i + 1] = curand_normal4_double(&state);
    words[2 * i + 1] = curand_poisson4(&state, 2.5);
}

// Philox's bijection itself, by a state that is set by hand.
extern "C" __global__ void philox_known(const uint4* counters, const uint2* keys, uint4* words)
{
    curandStatePhilox4_32_10_t state;
    const uint4 counter = counters[threadIdx.x];
    const uint2 key = keys[threadIdx.x];
    curand_init(key.x | (unsigned long long)key.y << 32,
                counter.z | (unsigned long long)counter.w << 32, 0, &state);
    // The offset counts numbers, of which a counter has four.
    const unsigned long long low = counter.x | (unsigned long long)counter.y << 32;
    for (int k = 0; k < 4; ++k) skipahead(low, &state);
    words[threadIdx.x] = curand4(&state);
}

extern "C" __global__ void sobol(curandDirectionVectors32_t* narrow, unsigned int scramble,
                                 curandDirectionVectors64_t* wide, unsigned int* words,
                                 unsigned long long* longs, float* normals)
{
    const int i = threadIdx.x;
    curandStateSobol32_t plain;
    curandStateScrambledSobol32_t scrambled;
    curandStateSobol64_t plain64;
    curandStateScrambledSobol64_t scrambled64;
    curand_init(narrow[0], i * 7919u, &plain);
    curand_init(narrow[0], scramble, i * 7919u, &scrambled);
    curand_init(wide[0], i * 7919ull, &plain64);
    curand_init(wide[0], (unsigned long long)scramble, i * 7919ull, &scrambled64);
    for (int k = 0; k < DRAWS; ++k) {
        words[i * 2 * DRAWS + k] = curand(&plain);
        words[i * 2 * DRAWS + DRAWS + k] = curand(&scrambled);
        longs[i * 2 * DRAWS + k] = curand(&plain64);
        longs[i * 2 * DRAWS + DRAWS + k] = curand(&scrambled64);
    }
    normals[2 * i] = curand_normal(&plain);
    normals[2 * i + 1] = curand_uniform(&plain64);
}
