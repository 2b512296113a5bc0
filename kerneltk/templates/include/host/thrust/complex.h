// thrust::complex for host compilers: the package's own complex<T>.
#pragma once
#include <kerneltk/complex.hpp>
#include <kerneltk/complex_powers.hpp>
#include <kerneltk/complex_circular.hpp>
