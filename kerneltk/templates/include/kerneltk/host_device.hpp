// What device code of a user's own source finds without an include, besides core.hpp and the execution
// model: the architecture, vector types, the less common functions, new and delete.
#pragma once
#include <kerneltk/core.hpp>
#include <kerneltk/host_arch.hpp>
#include <kerneltk/host_intrinsics.hpp>
#include <kerneltk/host_new.hpp>
#include <kerneltk/host_ordered_atomics.hpp>
#include <kerneltk/host_vector.hpp>
