// The name that kernels written for CuPy include: parts of the standard library that a runtime
// compiler lacks.
#pragma once
#ifdef __CUDACC_RTC__
#include <nvrtc/limits>
#include <nvrtc/tuple>
#include <nvrtc/type_traits>
#include <nvrtc/utility>
#else
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>
#endif

class float16;
class bfloat16;
