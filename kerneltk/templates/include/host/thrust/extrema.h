// The parts of Thrust that a thread of a kernel calls.
#pragma once
#include <kerneltk/host_thrust.hpp>
