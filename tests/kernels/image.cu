// Images: grey values, resizing, edges, blur, thresholds.

extern "C" __global__ void rgba_to_grey(const uchar4* rgba, unsigned char* grey, int pixels)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < pixels; i += blockDim.x * gridDim.x) {
        const uchar4 p = rgba[i];
        grey[i] = static_cast<unsigned char>((77 * p.x + 150 * p.y + 29 * p.z) >> 8);
    }
}

// Bilinear resizing, with pixel centres aligned.
extern "C" __global__ void resize_bilinear(const float* in, int in_height, int in_width, float* out,
                                           int out_height, int out_width)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= out_width || y >= out_height) return;
    const float scale_x = static_cast<float>(in_width) / out_width;
    const float scale_y = static_cast<float>(in_height) / out_height;
    const float source_x = fminf(fmaxf((x + 0.5f) * scale_x - 0.5f, 0.0f), in_width - 1.0f);
    const float source_y = fminf(fmaxf((y + 0.5f) * scale_y - 0.5f, 0.0f), in_height - 1.0f);
    const int x0 = static_cast<int>(source_x);
    const int y0 = static_cast<int>(source_y);
    const int x1 = min(x0 + 1, in_width - 1);
    const int y1 = min(y0 + 1, in_height - 1);
    const float fx = source_x - x0;
    const float fy = source_y - y0;
    const float top = in[y0 * in_width + x0] * (1.0f - fx) + in[y0 * in_width + x1] * fx;
    const float bottom = in[y1 * in_width + x0] * (1.0f - fx) + in[y1 * in_width + x1] * fx;
    out[y * out_width + x] = top * (1.0f - fy) + bottom * fy;
}

// Sobel's operator: |gx| + |gy|, at most 255; the border is zero.
extern "C" __global__ void sobel(const unsigned char* in, unsigned char* out, int width, int height)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    if (x == 0 || y == 0 || x == width - 1 || y == height - 1) {
        out[y * width + x] = 0;
        return;
    }
    auto at = [&](int dx, int dy) { return static_cast<int>(in[(y + dy) * width + x + dx]); };
    const int gx = at(1, -1) + 2 * at(1, 0) + at(1, 1) - at(-1, -1) - 2 * at(-1, 0) - at(-1, 1);
    const int gy = at(-1, 1) + 2 * at(0, 1) + at(1, 1) - at(-1, -1) - 2 * at(0, -1) - at(1, -1);
    out[y * width + x] = static_cast<unsigned char>(min(abs(gx) + abs(gy), 255));
}

// The median of 3 × 3 pixels by a partial selection sort; the border repeats.
extern "C" __global__ void median_3x3(const unsigned short* in, unsigned short* out, int width,
                                      int height)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    unsigned short window[9];
    int held = 0;
    for (int dy = -1; dy <= 1; ++dy) {
        for (int dx = -1; dx <= 1; ++dx) {
            const int row = min(max(y + dy, 0), height - 1);
            const int column = min(max(x + dx, 0), width - 1);
            window[held++] = in[row * width + column];
        }
    }
    for (int i = 0; i < 5; ++i) {
        int smallest = i;
        for (int k = i + 1; k < 9; ++k) {
            if (window[k] < window[smallest]) smallest = k;
        }
        const unsigned short swap = window[i];
        window[i] = window[smallest];
        window[smallest] = swap;
    }
    out[y * width + x] = window[4];
}

// Rows of a separable filter, radius in the template.
template <typename T, int RADIUS>
__global__ void blur_rows(const T* in, T* out, int width, int height)
{
    extern __shared__ __align__(8) unsigned char blur_memory[];
    T* line = reinterpret_cast<T*>(blur_memory);
    const int y = blockIdx.y;
    const int first = blockIdx.x * blockDim.x - RADIUS;
    for (int k = threadIdx.x; k < static_cast<int>(blockDim.x) + 2 * RADIUS; k += blockDim.x) {
        const int x = min(max(first + k, 0), width - 1);
        line[k] = in[y * width + x];
    }
    __syncthreads();
    const int x = first + RADIUS + threadIdx.x;
    if (x < width && y < height) {
        T sum = T(0);
        for (int k = 0; k <= 2 * RADIUS; ++k) sum += line[threadIdx.x + k];
        out[y * width + x] = sum;
    }
}

// Sums of a block's rows and columns of a summed-area table.
extern "C" __global__ void integral_rows(const unsigned char* in, unsigned int* out, int width,
                                         int height)
{
    const int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= height) return;
    unsigned int sum = 0;
    for (int x = 0; x < width; ++x) {
        sum += in[y * width + x];
        out[y * width + x] = sum;
    }
}

// Turns an image by ninety degrees, three channels a pixel.
extern "C" __global__ void rotate_rgb(const uchar3* in, uchar3* out, int width, int height)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) {
        out[x * height + (height - 1 - y)] = in[y * width + x];
    }
}
