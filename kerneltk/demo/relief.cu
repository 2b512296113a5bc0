// Slope (degrees) and brightness of each cell of a grid (rows x columns) under a distant light: the
// same as the demo's kernels of one expression and in Python.

// Differences are central; on the border they are one-sided.
extern "C" __global__ void relief(const float* __restrict__ height, int rows, int columns, float dx,
                                  float dy, float light_east, float light_north, float light_up,
                                  float* __restrict__ slope, float* __restrict__ shade) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= rows || column >= columns) return;
    const long long cell = (long long)row * columns + column;
    const int west = column > 0, east = column < columns - 1;
    const int north = row > 0, south = row < rows - 1;
    const float to_east = (height[cell + east] - height[cell - west]) / (float(east + west) * dx);
    const float to_north =
        (height[cell - (long long)north * columns] - height[cell + (long long)south * columns]) /
        (float(north + south) * dy);
    const float square = to_east * to_east + to_north * to_north;
    slope[cell] = 57.29577951f * atanf(sqrtf(square));
    const float lit =
        (light_up - light_east * to_east - light_north * to_north) / sqrtf(1.0f + square);
    shade[cell] = lit < 0.0f ? 0.0f : lit;
}
