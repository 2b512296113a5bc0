// The name that kernels written for CuPy include: what a runtime compiler lacks of the standard
// library's limits is built in or in the toolkit's headers here, so that nothing is left to declare.
#pragma once
