#define SWAP(k, n) { int v = s##k[t ^ n]; s##k[t] = v + 1; }
#define HALVES STEP(16) STEP(8)
#define LAST HALVES STEP(4) STEP(2) STEP(1)
template <class T> __device__ void folded(T* s, int t) {
    for (int n = 16; n; n /= 2) s[t] += s[(t + n) % 32];
}
template <class T> __global__ void asked(T* s) { folded(s, threadIdx.x); }
template <class T> struct View { T* data; __device__ int next(int t) { return data[t ^ 1]; } };
extern "C" __global__ void deduced(int* y) {
    __shared__ volatile int s[32];
    int t = threadIdx.x;
    s[t] = 1;
    folded(s, t);
    View<volatile int> view{s};
    s[t] = t + view.next(t);
    y[t] = s[t];
}
extern "C" __global__ void pasted(int* y) {
    __shared__ volatile int s1[32];
    int t = threadIdx.x;
    s1[t] = t;
    SWAP(1, 1)
    SWAP(1, 2)
    y[t] = s1[t];
}
extern "C" __global__ void backwards(int* y) {
    __shared__ volatile int s[33];
    int t = threadIdx.x;
    t[s] = t;
    t[s] = (t ^ 1)[s];
    y[t] = t[s + 0];
}
extern "C" __global__ void by_options(int* y) {
    __shared__ SHARED_INT s[32];
    int t = threadIdx.x;
    s[t] = 1;
    if (t < 32) { STEP(16) STEP(8) STEP(4) STEP(2) STEP(1) }
    y[t] = s[t];
}
extern "C" __global__ void nested(int* y) {
    __shared__ VOL int s[32];
    int t = threadIdx.x;
    s[t] = 1;
    if (t < 32) { LAST }
    y[t] = s[t];
}
