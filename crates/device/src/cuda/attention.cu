
// Causal attention of heads of 32 or 64 numbers, in tiles that stay on the chip: no matrix of steps by steps is ever written. Products on tensor cores with factors rounded to bf16, everything else in `float`.
// A block has 128 queries or keys of one head of one example, a warp 16 of them. Rows of `projected` hold queries, keys and values of all heads, `width` numbers each.

#define LINES 128

#if __CUDA_ARCH__ >= 800

__device__ unsigned pair_of(float low, float high) {
    unsigned both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}

__device__ void multiply_tile(float* c, const unsigned* a, unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Some lines of one head, side by side; zeros beyond the last step. Lines have eight numbers more, so that reads meet no bank twice.
template <int D, int N> __device__ void load_tile(Place place, size start, unsigned stride, int first, int steps, unsigned short* lines) {
    if (place.half) {
        const unsigned short* from = (const unsigned short*)place.at + start;
        for (unsigned i = threadIdx.x; i < N * D / 8; i += blockDim.x) {
            int line = i / (D / 8), j = 8 * (i % (D / 8));
            uint4 x = make_uint4(0, 0, 0, 0);
            if (first + line < steps) x = *(const uint4*)(from + (size)(first + line) * stride + j);
            *(uint4*)(lines + line * (D + 8) + j) = x;
        }
        return;
    }
    const float* from = (const float*)place.at + start;
    for (unsigned i = threadIdx.x; i < N * D / 4; i += blockDim.x) {
        int line = i / (D / 4), j = 4 * (i % (D / 4));
        float4 x = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (first + line < steps) x = *(const float4*)(from + (size)(first + line) * stride + j);
        *(uint2*)(lines + line * (D + 8) + j) = make_uint2(pair_of(x.x, x.y), pair_of(x.z, x.w));
    }
}

// A warp's 16 lines as left factors.
template <int D> __device__ void load_left(Place place, size start, unsigned stride, int first, int steps, unsigned left[D / 16][4]) {
    unsigned lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
    #pragma unroll
    for (int k = 0; k < D / 16; k++) {
        #pragma unroll
        for (int part = 0; part < 4; part++) {
            int line = first + g + (part & 1) * 8;
            size at = start + (size)line * stride + 16 * k + 8 * (part >> 1) + 2 * t;
            left[k][part] = 0;
            if (line < steps && place.half) {
                left[k][part] = *(const unsigned*)((const unsigned short*)place.at + at);
            } else if (line < steps) {
                float2 x = *(const float2*)((const float*)place.at + at);
                left[k][part] = pair_of(x.x, x.y);
            }
        }
    }
}

// Four 8 by 8 tiles, one from each eight lanes' addresses, for what a thread needs of right factors; `turned`, each tile is turned as it is read.
__device__ void four_parts(unsigned* to, const unsigned short* from, bool turned) {
    unsigned at = (unsigned)__cvta_generic_to_shared(from);
    if (turned) asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(at));
    else asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(at));
}

// c += the left factor times 8 lines of a tile, over K numbers.
template <int K> __device__ void multiply_lines(float* c, const unsigned (*left)[4], const unsigned short* lines, int pitch) {
    unsigned lane = threadIdx.x & 31, right[4];
    #pragma unroll
    for (int k = 0; k < K / 16; k += 2) {
        four_parts(right, lines + (lane & 7) * pitch + 16 * k + (lane & 24), false);
        multiply_tile(c, left[k], right[0], right[1]);
        multiply_tile(c, left[k + 1], right[2], right[3]);
    }
}

// c += the left factor times 8 columns of a tile of K lines, which are turned as they are read.
template <int K> __device__ void multiply_columns(float* c, const unsigned (*left)[4], const unsigned short* columns, int pitch) {
    unsigned lane = threadIdx.x & 31, right[4];
    #pragma unroll
    for (int k = 0; k < K / 16; k += 2) {
        four_parts(right, columns + (16 * k + lane) * pitch, true);
        multiply_tile(c, left[k], right[0], right[1]);
        multiply_tile(c, left[k + 1], right[2], right[3]);
    }
}

// What accumulators of 8N columns are as left factors.
template <int N> __device__ void as_left(const float (*c)[4], unsigned (*left)[4]) {
    #pragma unroll
    for (int k = 0; k < N / 2; k++) {
        left[k][0] = pair_of(c[2 * k][0], c[2 * k][1]);
        left[k][1] = pair_of(c[2 * k][2], c[2 * k][3]);
        left[k][2] = pair_of(c[2 * k + 1][0], c[2 * k + 1][1]);
        left[k][3] = pair_of(c[2 * k + 1][2], c[2 * k + 1][3]);
    }
}

template <int D> __device__ void store_lines(const float (*c)[4], Place to, size start, unsigned stride, int first, int steps) {
    unsigned lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
    #pragma unroll
    for (int n = 0; n < D / 8; n++) {
        #pragma unroll
        for (int half = 0; half < 2; half++) {
            int line = first + g + 8 * half;
            size at = start + (size)line * stride + 8 * n + 2 * t;
            if (line < steps && to.half) *(unsigned*)((unsigned short*)to.at + at) = pair_of(c[n][2 * half], c[n][2 * half + 1]);
            else if (line < steps) *(float2*)((float*)to.at + at) = make_float2(c[n][2 * half], c[n][2 * half + 1]);
        }
    }
}

// `scale` is the factor of scores times log2 e. `logs` gets log2 Σ 2^score of each query.
template <int D> __device__ void attention_forward(
    int steps, unsigned heads, unsigned width, float scale, word projected, word context, float* logs
) {
    const int N = 64;
    __shared__ __align__(16) unsigned short keys[N * (D + 8)], values[N * (D + 8)];
    unsigned example = blockIdx.x / heads, head = blockIdx.x % heads, stride = 3 * width;
    Place rows(projected);
    size start = (size)example * steps * stride + head * D;
    unsigned warp = threadIdx.x >> 5, lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
    int block = blockIdx.y * LINES, first = block + 16 * warp;
    unsigned queries[D / 16][4];
    load_left<D>(rows, start, stride, first, steps, queries);
    float found[D / 8][4] = {}, most[2] = {LOWEST, LOWEST}, sums[2] = {0.0f, 0.0f};
    for (int from = 0; from < steps && from < block + LINES; from += N) {
        __syncthreads();
        load_tile<D, N>(rows, start + width, stride, from, steps, keys);
        load_tile<D, N>(rows, start + 2 * width, stride, from, steps, values);
        __syncthreads();
        if (from > first + 15) continue;
        int ahead = first - from;
        float scores[N / 8][4] = {};
        #pragma unroll
        for (int n = 0; n < N / 8; n++) multiply_lines<D>(scores[n], queries, keys + 8 * n * (D + 8), D + 8);
        float largest[2] = {most[0], most[1]};
        #pragma unroll
        for (int n = 0; n < N / 8; n++) {
            #pragma unroll
            for (int i = 0; i < 4; i++) {
                // Where all keys of a tile come before all queries of the warp, none is left out.
                int key = 8 * n + 2 * t + (i & 1), query = ahead + g + 8 * (i >> 1);
                scores[n][i] = ahead >= N || key <= query ? scores[n][i] * scale : __int_as_float(0xff800000);
                largest[i >> 1] = scores[n][i] > largest[i >> 1] ? scores[n][i] : largest[i >> 1];
            }
        }
        #pragma unroll
        for (int half = 0; half < 2; half++) {
            #pragma unroll
            for (int other = 1; other < 4; other *= 2) {
                float theirs = __shfl_xor_sync(FULL, largest[half], other);
                largest[half] = theirs > largest[half] ? theirs : largest[half];
            }
            float shrink = exp2f(most[half] - largest[half]);
            most[half] = largest[half];
            sums[half] *= shrink;
            #pragma unroll
            for (int n = 0; n < D / 8; n++) {
                found[n][2 * half] *= shrink;
                found[n][2 * half + 1] *= shrink;
            }
        }
        #pragma unroll
        for (int n = 0; n < N / 8; n++) {
            #pragma unroll
            for (int i = 0; i < 4; i++) {
                scores[n][i] = exp2f(scores[n][i] - most[i >> 1]);
                sums[i >> 1] += scores[n][i];
            }
        }
        unsigned shares[N / 16][4];
        as_left<N / 8>(scores, shares);
        #pragma unroll
        for (int n = 0; n < D / 8; n++) multiply_columns<N>(found[n], shares, values + 8 * n, D + 8);
    }
    #pragma unroll
    for (int half = 0; half < 2; half++) {
        sums[half] += __shfl_xor_sync(FULL, sums[half], 1);
        sums[half] += __shfl_xor_sync(FULL, sums[half], 2);
        float share = 1.0f / sums[half];
        #pragma unroll
        for (int n = 0; n < D / 8; n++) {
            found[n][2 * half] *= share;
            found[n][2 * half + 1] *= share;
        }
        int query = first + g + 8 * half;
        if (t == 0 && query < steps) logs[(size)blockIdx.x * steps + query] = most[half] + log2f(sums[half]);
    }
    store_lines<D>(found, Place(context), (size)example * steps * width + head * D, width, first, steps);
}

// The gradient of scores, times the factor, of N / 8 tiles: `scores` before, `gradients` of the shares before. Queries are lines, or columns where `turned`. `ahead` is how far the first query is ahead of the first key, and `rest` how many
// queries there are from the first on. Keys beyond the last step are zeros, and what becomes of them is written nowhere.
template <int N> __device__ void score_gradients(
    float (*scores)[4], float (*gradients)[4], bool turned, int ahead, int rest, float scale, float factor, const float* logs, const float* deltas
) {
    unsigned lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
    const int QUERIES = turned ? N : 16, KEYS = turned ? 16 : N;
    bool all = ahead >= KEYS && rest >= QUERIES;
    #pragma unroll
    for (int n = 0; n < N / 8; n++) {
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            int down = g + 8 * (i >> 1), across = 8 * n + 2 * t + (i & 1);
            int query = turned ? across : down, key = turned ? down : across;
            bool sees = all || key <= query + ahead && query < rest;
            float share = sees ? exp2f(scores[n][i] * scale - logs[query]) : 0.0f;
            gradients[n][i] = sees ? share * (gradients[n][i] - deltas[query]) * factor : 0.0f;
            scores[n][i] = share;
        }
    }
}

// Gradients of keys and values: a warp has 16 keys and goes through the queries that see them.
template <int D> __device__ void attention_keys(
    int steps, unsigned heads, unsigned width, float scale, float factor, word projected, word gradient,
    const float* logs, const float* deltas, word into
) {
    const int N = 32;
    __shared__ __align__(16) unsigned short queries[N * (D + 8)], found[N * (D + 8)];
    __shared__ float own_logs[N], own_deltas[N];
    unsigned example = blockIdx.x / heads, head = blockIdx.x % heads, stride = 3 * width;
    Place rows(projected);
    size start = (size)example * steps * stride + head * D;
    Place gradients(gradient);
    size of_gradients = (size)example * steps * width + head * D;
    unsigned warp = threadIdx.x >> 5;
    int block = blockIdx.y * LINES, first = block + 16 * warp;
    unsigned keys[D / 16][4], values[D / 16][4];
    load_left<D>(rows, start + width, stride, first, steps, keys);
    load_left<D>(rows, start + 2 * width, stride, first, steps, values);
    float of_keys[D / 8][4] = {}, of_values[D / 8][4] = {};
    for (int from = block; from < steps; from += N) {
        __syncthreads();
        load_tile<D, N>(rows, start, stride, from, steps, queries);
        load_tile<D, N>(gradients, of_gradients, width, from, steps, found);
        if (threadIdx.x < N) {
            bool there = from + (int)threadIdx.x < steps;
            own_logs[threadIdx.x] = there ? logs[(size)blockIdx.x * steps + from + threadIdx.x] : 0.0f;
            own_deltas[threadIdx.x] = there ? deltas[(size)blockIdx.x * steps + from + threadIdx.x] : 0.0f;
        }
        __syncthreads();
        if (from + N <= first) continue;
        float scores[N / 8][4] = {}, shares[N / 8][4] = {};
        #pragma unroll
        for (int n = 0; n < N / 8; n++) {
            multiply_lines<D>(scores[n], keys, queries + 8 * n * (D + 8), D + 8);
            multiply_lines<D>(shares[n], values, found + 8 * n * (D + 8), D + 8);
        }
        score_gradients<N>(scores, shares, true, from - first, steps - from, scale, factor, own_logs, own_deltas);
        unsigned left[N / 16][4];
        as_left<N / 8>(scores, left);
        #pragma unroll
        for (int n = 0; n < D / 8; n++) multiply_columns<N>(of_values[n], left, found + 8 * n, D + 8);
        as_left<N / 8>(shares, left);
        #pragma unroll
        for (int n = 0; n < D / 8; n++) multiply_columns<N>(of_keys[n], left, queries + 8 * n, D + 8);
    }
    store_lines<D>(of_keys, Place(into), start + width, stride, first, steps);
    store_lines<D>(of_values, Place(into), start + 2 * width, stride, first, steps);
}

// Gradients of queries: a warp has 16 of them and goes through the keys that they see.
template <int D> __device__ void attention_queries(
    int steps, unsigned heads, unsigned width, float scale, float factor, word projected, word gradient,
    const float* logs, const float* deltas, word into
) {
    const int N = 32;
    __shared__ __align__(16) unsigned short keys[N * (D + 8)], values[N * (D + 8)];
    __shared__ float own_logs[LINES], own_deltas[LINES];
    unsigned example = blockIdx.x / heads, head = blockIdx.x % heads, stride = 3 * width;
    Place rows(projected);
    size start = (size)example * steps * stride + head * D;
    unsigned warp = threadIdx.x >> 5;
    int block = blockIdx.y * LINES, first = block + 16 * warp;
    unsigned queries[D / 16][4], found[D / 16][4];
    load_left<D>(rows, start, stride, first, steps, queries);
    load_left<D>(Place(gradient), (size)example * steps * width + head * D, width, first, steps, found);
    if (threadIdx.x < LINES) {
        bool there = block + (int)threadIdx.x < steps;
        own_logs[threadIdx.x] = there ? logs[(size)blockIdx.x * steps + block + threadIdx.x] : 0.0f;
        own_deltas[threadIdx.x] = there ? deltas[(size)blockIdx.x * steps + block + threadIdx.x] : 0.0f;
    }
    float of_queries[D / 8][4] = {};
    for (int from = 0; from < steps && from < block + LINES; from += N) {
        __syncthreads();
        load_tile<D, N>(rows, start + width, stride, from, steps, keys);
        load_tile<D, N>(rows, start + 2 * width, stride, from, steps, values);
        __syncthreads();
        if (from > first + 15) continue;
        float scores[N / 8][4] = {}, shares[N / 8][4] = {};
        #pragma unroll
        for (int n = 0; n < N / 8; n++) {
            multiply_lines<D>(scores[n], queries, keys + 8 * n * (D + 8), D + 8);
            multiply_lines<D>(shares[n], found, values + 8 * n * (D + 8), D + 8);
        }
        score_gradients<N>(scores, shares, false, first - from, steps - first, scale, factor, own_logs + 16 * warp, own_deltas + 16 * warp);
        unsigned left[N / 16][4];
        as_left<N / 8>(shares, left);
        #pragma unroll
        for (int n = 0; n < D / 8; n++) multiply_columns<N>(of_queries[n], left, keys + 8 * n, D + 8);
    }
    store_lines<D>(of_queries, Place(into), start, stride, first, steps);
}

#define FORWARD(D) attention_forward<D>(steps, heads, width, scale, projected, context, logs)
#define BACKWARD(NAME, D) NAME<D>(steps, heads, width, scale, factor, projected, gradient, logs, deltas, into)

#else

// Without these instructions the host takes the other way.
#define FORWARD(D) __trap()
#define BACKWARD(NAME, D) __trap()

#endif

extern "C" __global__ void attention_forward_32(size steps, size heads, size width, float scale, word projected, word context, float* logs) {
    FORWARD(32);
}

extern "C" __global__ void __launch_bounds__(256, 2) attention_forward_64(size steps, size heads, size width, float scale, word projected, word context, float* logs) {
    FORWARD(64);
}

extern "C" __global__ void attention_keys_32(
    size steps, size heads, size width, float scale, float factor, word projected, word gradient, const float* logs, const float* deltas, word into
) {
    BACKWARD(attention_keys, 32);
}

extern "C" __global__ void __launch_bounds__(256, 2) attention_keys_64(
    size steps, size heads, size width, float scale, float factor, word projected, word gradient, const float* logs, const float* deltas, word into
) {
    BACKWARD(attention_keys, 64);
}

extern "C" __global__ void attention_queries_32(
    size steps, size heads, size width, float scale, float factor, word projected, word gradient, const float* logs, const float* deltas, word into
) {
    BACKWARD(attention_queries, 32);
}

extern "C" __global__ void __launch_bounds__(256, 2) attention_queries_64(
    size steps, size heads, size width, float scale, float factor, word projected, word gradient, const float* logs, const float* deltas, word into
) {
    BACKWARD(attention_queries, 64);
}

// Σ gradient·context of each row and head: a warp each.
extern "C" __global__ void attention_deltas(
    size rows, size steps, size heads, size width, word gradient_place, word context_place, float* deltas
) {
    Place gradient(gradient_place), context(context_place);
    size number = (size)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    unsigned lane = threadIdx.x & 31;
    if (number >= rows * heads) return;
    size row = number / heads, head = number % heads, part = width / heads;
    float sum = 0.0f;
    for (size j = lane; j < part; j += 32) sum += gradient.one(row * width + head * part + j) * context.one(row * width + head * part + j);
    sum = warp_sum(sum);
    if (lane == 0) deltas[(row / steps * heads + head) * steps + row % steps] = sum;
}
