// <pthread.h> for NVRTC: types, as large as in GNU's library. Only code for the host, which is left out, can do
// anything with one.
#pragma once
typedef unsigned long pthread_t;
typedef unsigned int pthread_key_t;
typedef struct {
    alignas(8) unsigned char _kt_opaque[56];
} pthread_attr_t;
typedef struct {
    alignas(8) unsigned char _kt_opaque[40];
} pthread_mutex_t;
typedef struct {
    alignas(8) unsigned char _kt_opaque[48];
} pthread_cond_t;
typedef struct {
    alignas(8) unsigned char _kt_opaque[32];
} pthread_barrier_t;
