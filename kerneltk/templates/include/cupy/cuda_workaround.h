// The name that kernels written for CuPy include: parts of the standard library that a runtime
// compiler lacks.
#pragma once
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

class float16;
class bfloat16;
