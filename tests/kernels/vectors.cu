// Vector types: wide loads, structures of coordinates, conversions.

// Wide loads of scalar arrays, with what does not fill a vector at the end.
extern "C" __global__ void negate_wide(const int* in, int* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 4) {
        const int4 v = reinterpret_cast<const int4*>(in)[i];
        reinterpret_cast<int4*>(out)[i] = make_int4(-v.x, -v.y, -v.z, -v.w);
    }
    if (i < n % 4) {
        const int k = n / 4 * 4 + i;
        out[k] = -in[k];
    }
}

extern "C" __global__ void blend_rgba(const uchar4* front, const uchar4* back, uchar4* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const uchar4 f = front[i];
    const uchar4 b = back[i];
    const int alpha = f.w;
    uchar4 mixed;
    mixed.x = static_cast<unsigned char>((f.x * alpha + b.x * (255 - alpha)) / 255);
    mixed.y = static_cast<unsigned char>((f.y * alpha + b.y * (255 - alpha)) / 255);
    mixed.z = static_cast<unsigned char>((f.z * alpha + b.z * (255 - alpha)) / 255);
    mixed.w = 255;
    out[i] = mixed;
}

__device__ __forceinline__ float3 cross(float3 a, float3 b)
{
    return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

__device__ __forceinline__ float3 operator-(const float3& a, const float3& b)
{
    return make_float3(a.x - b.x, a.y - b.y, a.z - b.z);
}

// Normals of triangles; three corners of three coordinates each.
extern "C" __global__ void normals(const float3* corners, float3* out, int triangles)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= triangles) return;
    const float3 a = corners[3 * t];
    out[t] = cross(corners[3 * t + 1] - a, corners[3 * t + 2] - a);
}

// Sizes and alignments of the built-in types, as the arrays of the caller assume them.
extern "C" __global__ void layouts(int* out)
{
    const int found[] = {
        sizeof(char3),      alignof(char3),      sizeof(uchar4),  alignof(uchar4),
        sizeof(short2),     alignof(short2),     sizeof(ushort3), alignof(ushort3),
        sizeof(int3),       alignof(int3),       sizeof(uint4),   alignof(uint4),
        sizeof(longlong2),  alignof(longlong2),  sizeof(float2),  alignof(float2),
        sizeof(float3),     alignof(float3),     sizeof(float4),  alignof(float4),
        sizeof(double2),    alignof(double2),    sizeof(dim3),    alignof(dim3),
    };
    for (unsigned int k = threadIdx.x; k < sizeof(found) / sizeof(found[0]); k += blockDim.x) {
        out[k] = found[k];
    }
}

extern "C" __global__ void unpack(const unsigned int* packed, short2* low_high, ushort4* nibbles,
                                  char3* signs, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned int p = packed[i];
    low_high[i] = make_short2(static_cast<short>(p & 0xffff), static_cast<short>(p >> 16));
    nibbles[i] = make_ushort4(p & 0xf, p >> 4 & 0xf, p >> 8 & 0xf, p >> 12 & 0xf);
    char3 s = {0, 0, 0};
    s.x = (p & 1) ? 1 : -1;
    s.y = (p & 2) ? 1 : -1;
    s.z = (p & 4) ? 1 : -1;
    signs[i] = s;
}

// dim3 and uint3 are ordinary values too.
extern "C" __global__ void shapes(unsigned int* out)
{
    const dim3 line(5);
    const dim3 plane(6, 7);
    const uint3 place = blockIdx;
    const dim3 size = blockDim;
    if (threadIdx.x + threadIdx.y + threadIdx.z == 0) {
        unsigned int* row = out + 8 * place.x;
        row[0] = line.x * 100 + line.y * 10 + line.z;
        row[1] = plane.x * 100 + plane.y * 10 + plane.z;
        row[2] = place.x;
        row[3] = place.y + place.z;
        row[4] = size.x;
        row[5] = size.y * size.z;
        row[6] = gridDim.x;
        row[7] = threadIdx.x + threadIdx.y + threadIdx.z;
    }
}

// Loads through the read-only cache.
extern "C" __global__ void gather_readonly(const float* values, const int* places,
                                           const float4* rows, float* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const int place = __ldg(&places[i]);
        const float4 row = __ldg(rows + place % 4);
        out[i] = __ldg(values + place) + row.x + row.w;
    }
}
