// What a program's own header has for both sides.
#pragma once
#include <cufft.h>
#include <pthread.h>
#include <sched.h>
#include <sys/time.h>
#include <bits/stdc++.h>
#include <cublas_v2.h>
using namespace std;

typedef pthread_t Worker;
typedef vector<bool> Mask;
struct Settings {
    double rate;
    string name;
    map<string, vector<int>> groups;
};

static double seconds() {
    struct timeval now;
    gettimeofday(&now, NULL);
    return now.tv_sec + now.tv_usec * 1e-6;
}

class Timer {
public:
    Timer() : begin(seconds()) {}
    double elapsed() const { return seconds() - begin; }
    friend ostream& operator<<(ostream& out, const Timer& timer) { return out << timer.elapsed(); }

private:
    double begin;
};

// Memory that both sides reach.
class Shared {
public:
    void* operator new(size_t bytes) {
        void* p;
        cudaMallocManaged(&p, bytes);
        return p;
    }
    void operator delete(void* p) { cudaFree(p); }
};

void CUDART_CB finished(cudaStream_t stream, cudaError_t error, void* data);
