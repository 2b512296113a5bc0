// The parts of Thrust that a thread of a kernel calls.
#pragma once
#include <thrust/_kt_thrust.h>
