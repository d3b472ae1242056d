// What the GPU runs besides products of matrices; compiled when a device is opened.
//
// No kernel adds numbers with atomics: sums are made in one order, so that a step that is run again gives the same bits.
// Every parameter takes eight bytes on the host's side: sizes and flags are `size`, numbers `float` or `double`.

typedef long long size;
typedef unsigned long long word;

#define FULL 0xffffffffu
// No row.
#define NONE 0xffffffffu
#define LOWEST -3.402823466e38f
// As in rounding.rs: 2^-79.
#define TINY 1.6543612251060553e-24
// As in rounding.rs: 2^-50.
#define LEAST_WEIGHT 8.8817841970012523e-16f

// Rows that are steps of examples.
struct Rows {
    unsigned examples, steps, by_steps;
    __device__ Rows(size e, size s, size b) : examples(e), steps(s), by_steps(b) {}
    __device__ size row(unsigned example, unsigned step) const {
        return by_steps ? (size)step * examples + example : (size)example * steps + step;
    }
    __device__ unsigned example(unsigned row) const { return by_steps ? row % examples : row / steps; }
    __device__ unsigned step(unsigned row) const { return by_steps ? row / examples : row % steps; }
};

// The sum over a block, the same in every thread. Warps are added in order.
template <typename T> __device__ T block_sum(T value) {
    __shared__ T parts[32];
    for (int other = 16; other > 0; other >>= 1) value += __shfl_xor_sync(FULL, value, other);
    __syncthreads();
    if ((threadIdx.x & 31) == 0) parts[threadIdx.x >> 5] = value;
    __syncthreads();
    T total = 0;
    for (int warp = 0; warp < blockDim.x >> 5; warp++) total += parts[warp];
    return total;
}

// The largest of a block; what is not a number is passed over.
__device__ float block_largest(float value) {
    __shared__ float parts[32];
    for (int other = 16; other > 0; other >>= 1) {
        float theirs = __shfl_xor_sync(FULL, value, other);
        value = theirs > value ? theirs : value;
    }
    __syncthreads();
    if ((threadIdx.x & 31) == 0) parts[threadIdx.x >> 5] = value;
    __syncthreads();
    float largest = parts[0];
    for (int warp = 1; warp < blockDim.x >> 5; warp++) largest = parts[warp] > largest ? parts[warp] : largest;
    return largest;
}

__device__ float warp_sum(float value) {
    for (int other = 16; other > 0; other >>= 1) value += __shfl_xor_sync(FULL, value, other);
    return value;
}

__device__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

// Rounding to bf16: to the nearest, ties to even; what is below the normal numbers becomes 0.

__device__ unsigned half_of(float x) {
    unsigned bits = __float_as_uint(x);
    if ((bits & 0x7f800000u) == 0) return bits >> 16 & 0x8000u;
    if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fffu;
    return (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}

__device__ float rounded(float x) { return __uint_as_float(half_of(x) << 16); }

__device__ uint2 halves_of(float4 x, float factor) {
    uint2 both;
    both.x = half_of(factor * x.x) | half_of(factor * x.y) << 16;
    both.y = half_of(factor * x.z) | half_of(factor * x.w) << 16;
    return both;
}

__device__ float widened(unsigned short x) { return __uint_as_float((unsigned)x << 16); }

// Numbers as `float`, or rounded to bf16 where the highest bit of their address says so.
struct Place {
    char* at;
    bool half;
    __device__ Place(word place) : at((char*)(place & ~(1ull << 63))), half(place >> 63) {}
    __device__ float one(size i) const { return half ? widened(((const unsigned short*)at)[i]) : ((const float*)at)[i]; }
    __device__ void set(size i, float x) const {
        if (half) ((unsigned short*)at)[i] = half_of(x);
        else ((float*)at)[i] = x;
    }
    // Four at a multiple of four, where `fours()`.
    __device__ bool fours() const { return ((word)at & (half ? 7 : 15)) == 0; }
    __device__ float4 four(size i) const {
        if (!half) return *(const float4*)((const float*)at + i);
        uint2 x = *(const uint2*)((const unsigned short*)at + i);
        return make_float4(
            __uint_as_float(x.x << 16), __uint_as_float(x.x & 0xffff0000u), __uint_as_float(x.y << 16), __uint_as_float(x.y & 0xffff0000u)
        );
    }
    __device__ void set4(size i, float4 x) const {
        if (half) *(uint2*)((unsigned short*)at + i) = halves_of(x, 1.0f);
        else *(float4*)((float*)at + i) = x;
    }
};

__device__ bool aligned(const float* values) { return ((word)values & 15) == 0; }

// All numbers below n, spread over the grid.
#define EACH(i, n) for (size i = (size)blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += (size)gridDim.x * blockDim.x)
// This block's row is blockIdx.x; its columns are spread over blockIdx.y.
#define EACH_COLUMN(j, width) for (size j = (size)blockIdx.y * blockDim.x + threadIdx.x; j < (width); j += (size)gridDim.y * blockDim.x)

// Numbers one by one.

extern "C" __global__ void axpy(size n, float alpha, const float* x, float* y) {
    EACH(i, n) y[i] += alpha * x[i];
}

extern "C" __global__ void gather(size width, const unsigned* tokens, const float* table, size room, size add, float* output) {
    size row = blockIdx.x;
    size from = tokens[row] * width;
    if (from + width > room) __trap();
    EACH_COLUMN(j, width) {
        float value = table[from + j];
        output[row * width + j] = add ? output[row * width + j] + value : value;
    }
}

extern "C" __global__ void choose_rows(size width, size stride, const unsigned* chosen, word place, size room, float* output) {
    Place values(place);
    size row = blockIdx.x, from = chosen[row] * stride;
    bool none = chosen[row] == NONE;
    if (!none && from + width > room) __trap();
    EACH_COLUMN(j, width) output[row * width + j] = none ? 0.0f : values.one(from + j);
}

extern "C" __global__ void widen(size width, size stride, word place, float* output) {
    Place values(place);
    size row = blockIdx.x;
    EACH_COLUMN(j, width) output[row * width + j] = values.one(row * stride + j);
}

extern "C" __global__ void choose_tokens(size n, const unsigned* chosen, const unsigned* tokens, size room, unsigned* output) {
    EACH(i, n) {
        if (chosen[i] != NONE && chosen[i] >= room) __trap();
        output[i] = chosen[i] == NONE ? 0 : tokens[chosen[i]];
    }
}

// The first row of each token adds all rows of that token, in order.
extern "C" __global__ void scatter_add(
    size examples, size steps, size by_steps, const float* weights, const unsigned* tokens,
    const float* values, size stride, size width, float* table, size room
) {
    Rows rows(examples, steps, by_steps);
    unsigned first = blockIdx.x, count = examples * steps, token = tokens[first];
    for (unsigned from = 0; from < first; from += 4 * blockDim.x) {
        int earlier = 0;
        for (unsigned k = 0; k < 4; k++) {
            unsigned i = from + k * blockDim.x + threadIdx.x;
            earlier |= i < first && tokens[i] == token;
        }
        if (__syncthreads_or(earlier)) return;
    }
    if (((size)token + 1) * width > room) __trap();
    __shared__ unsigned chosen[256], found[8];
    __shared__ float factors[256];
    unsigned warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    for (unsigned some = first; some < count; some += 4 * blockDim.x) {
        int alike = 0;
        for (unsigned k = 0; k < 4; k++) {
            unsigned i = some + k * blockDim.x + threadIdx.x;
            alike |= i < count && tokens[i] == token;
        }
        if (!__syncthreads_or(alike)) continue;
        for (unsigned from = some; from < count && from < some + 4 * blockDim.x; from += blockDim.x) {
            unsigned i = from + threadIdx.x;
            float weight = i < count && tokens[i] == token ? weights[rows.example(i)] : 0.0f;
            unsigned ballot = __ballot_sync(FULL, weight != 0.0f);
            if (lane == 0) found[warp] = __popc(ballot);
            __syncthreads();
            unsigned place = 0, total = 0;
            for (unsigned k = 0; k < blockDim.x >> 5; k++) {
                if (k < warp) place += found[k];
                total += found[k];
            }
            if (weight != 0.0f) {
                place += __popc(ballot & ((1u << lane) - 1));
                chosen[place] = i;
                factors[place] = weight;
            }
            __syncthreads();
            if (total > 0) {
                for (size j = threadIdx.x; j < width; j += blockDim.x) {
                    float sum = 0.0f;
                    #pragma unroll 4
                    for (unsigned k = 0; k < total; k++) sum += factors[k] * values[chosen[k] * stride + j];
                    table[token * width + j] += sum;
                }
            }
            __syncthreads();
        }
    }
}

extern "C" __global__ void add_bias(size width, const float* bias, float* values) {
    size row = blockIdx.x;
    EACH_COLUMN(j, width) values[row * width + j] += bias[j];
}

// Rows of `from`, or of zeros, each with the bias added.
extern "C" __global__ void spread(size n, size width, const float* bias, word from_place, word to_place) {
    Place from(from_place), to(to_place);
    unsigned columns = width;
    if (columns % 4 == 0 && from.fours() && to.fours() && aligned(bias)) {
        EACH(i, n / 4) {
            float4 x = from.at ? from.four(4 * i) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            if (bias) {
                float4 b = *(const float4*)(bias + (unsigned)(4 * i) % columns);
                x = make_float4(x.x + b.x, x.y + b.y, x.z + b.z, x.w + b.w);
            }
            to.set4(4 * i, x);
        }
    } else {
        EACH(i, n) to.set(i, (from.at ? from.one(i) : 0.0f) + (bias ? bias[(unsigned)i % columns] : 0.0f));
    }
}

#define SLOPE 0.7978845608028654f
#define CUBE 0.044715f

// Where numbers are rounded, 2^-20 does not matter.
__device__ float squashed(float x, bool half) { return half ? 1.0f - 2.0f / (1.0f + __expf(2.0f * x)) : tanhf(x); }

__device__ float activated(size kind, float x, bool half) {
    if (kind == 0) return 0.5f * x * (1.0f + squashed(SLOPE * (x + CUBE * x * x * x), half));
    if (kind == 1) return x < 0.0f ? 0.0f : x;
    return squashed(x, half);
}

__device__ float activated_backward(size kind, float g, float x, bool half) {
    if (kind == 0) {
        float t = squashed(SLOPE * (x + CUBE * x * x * x), half);
        return g * (0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * SLOPE * (1.0f + 3.0f * CUBE * x * x));
    }
    if (kind == 1) return x <= 0.0f ? 0.0f : g + 0.0f * x;
    float t = squashed(x, half);
    return g * (1.0f - t * t);
}

extern "C" __global__ void activate(size kind, size n, size width, const float* bias, word values_place, word to_place) {
    Place values(values_place), to(to_place);
    unsigned columns = width;
    if (columns % 4 == 0 && values.fours() && to.fours() && aligned(bias)) {
        EACH(i, n / 4) {
            float4 x = values.four(4 * i);
            if (bias) {
                float4 b = *(const float4*)(bias + (unsigned)(4 * i) % columns);
                x = make_float4(x.x + b.x, x.y + b.y, x.z + b.z, x.w + b.w);
                values.set4(4 * i, x);
            }
            bool half = to.half;
            x = make_float4(activated(kind, x.x, half), activated(kind, x.y, half), activated(kind, x.z, half), activated(kind, x.w, half));
            to.set4(4 * i, x);
        }
    } else {
        EACH(i, n) {
            float x = values.one(i);
            if (bias) {
                x += bias[(unsigned)i % columns];
                values.set(i, x);
            }
            to.set(i, activated(kind, x, to.half));
        }
    }
}

extern "C" __global__ void activate_backward(size kind, size n, word gradient_place, word values_place) {
    Place gradient(gradient_place), values(values_place);
    if (n % 4 == 0 && gradient.fours() && values.fours()) {
        EACH(i, n / 4) {
            float4 x = values.four(4 * i), g = gradient.four(4 * i);
            bool half = values.half;
            x = make_float4(
                activated_backward(kind, g.x, x.x, half), activated_backward(kind, g.y, x.y, half),
                activated_backward(kind, g.z, x.z, half), activated_backward(kind, g.w, x.w, half)
            );
            values.set4(4 * i, x);
        }
    } else {
        EACH(i, n) values.set(i, activated_backward(kind, gradient.one(i), values.one(i), values.half));
    }
}

extern "C" __global__ void dropout(
    size examples, size steps, size by_steps, size width, word seed, word threshold, float factor,
    const unsigned* keys, word place
) {
    Place values(place);
    Rows rows(examples, steps, by_steps);
    unsigned row = blockIdx.x;
    word start = seed ^ ((word)keys[rows.example(row)] << 32 | 0x5bd1e995ull);
    word first = (word)rows.step(row) * width;
    EACH_COLUMN(j, width) {
        word bits = start + (first + j) * 0x9e3779b97f4a7c15ull;
        bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ull;
        bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebull;
        bool keeps = ((bits ^ (bits >> 31)) >> 32) < threshold;
        size at = (size)row * width + j;
        values.set(at, keeps ? values.one(at) * factor : 0.0f);
    }
}

// Recurrent cells: a row is an example.

extern "C" __global__ void lstm_forward(
    size hidden, const float* bias, float* gates, const float* last, float* next, float* states
) {
    size row = blockIdx.x;
    float* gate = gates + row * 4 * hidden;
    EACH_COLUMN(j, hidden) {
        float i = sigmoid(gate[j] + bias[j]);
        float f = sigmoid(gate[hidden + j] + bias[hidden + j]);
        float g = tanhf(gate[2 * hidden + j] + bias[2 * hidden + j]);
        float o = sigmoid(gate[3 * hidden + j] + bias[3 * hidden + j]);
        float cell = f * last[row * hidden + j] + i * g;
        gate[j] = i;
        gate[hidden + j] = f;
        gate[2 * hidden + j] = g;
        gate[3 * hidden + j] = o;
        next[row * hidden + j] = cell;
        states[row * hidden + j] = o * tanhf(cell);
    }
}

extern "C" __global__ void lstm_backward(
    size hidden, float* gates, const float* last, const float* next, const float* state_gradient, float* cell_gradient
) {
    size row = blockIdx.x;
    float* gate = gates + row * 4 * hidden;
    EACH_COLUMN(j, hidden) {
        size at = row * hidden + j;
        float i = gate[j], f = gate[hidden + j], g = gate[2 * hidden + j], o = gate[3 * hidden + j];
        float squashed = tanhf(next[at]), gradient = state_gradient[at];
        float cell = cell_gradient[at] + gradient * o * (1.0f - squashed * squashed);
        gate[j] = cell * g * i * (1.0f - i);
        gate[hidden + j] = cell * last[at] * f * (1.0f - f);
        gate[2 * hidden + j] = cell * i * (1.0f - g * g);
        gate[3 * hidden + j] = gradient * squashed * o * (1.0f - o);
        cell_gradient[at] = cell * f;
    }
}

extern "C" __global__ void gru_forward(size hidden, const float* bias, float* gates, const float* last, float* next) {
    size row = blockIdx.x;
    float* gate = gates + row * 4 * hidden;
    EACH_COLUMN(j, hidden) {
        float z = sigmoid(gate[j] + bias[j]);
        float r = sigmoid(gate[hidden + j] + bias[hidden + j]);
        float q = gate[3 * hidden + j] + bias[3 * hidden + j];
        float n = tanhf(gate[2 * hidden + j] + bias[2 * hidden + j] + r * q);
        gate[j] = z;
        gate[hidden + j] = r;
        gate[2 * hidden + j] = n;
        gate[3 * hidden + j] = q;
        next[row * hidden + j] = n + z * (last[row * hidden + j] - n);
    }
}

extern "C" __global__ void gru_backward(
    size hidden, float* gates, const float* last, const float* state_gradient, float* last_gradient
) {
    size row = blockIdx.x;
    float* gate = gates + row * 4 * hidden;
    EACH_COLUMN(j, hidden) {
        size at = row * hidden + j;
        float z = gate[j], r = gate[hidden + j], n = gate[2 * hidden + j], q = gate[3 * hidden + j];
        float gradient = state_gradient[at];
        float inner = gradient * (1.0f - z) * (1.0f - n * n);
        gate[j] = gradient * (last[at] - n) * z * (1.0f - z);
        gate[hidden + j] = inner * q * r * (1.0f - r);
        gate[2 * hidden + j] = inner;
        gate[3 * hidden + j] = inner * r;
        last_gradient[at] = gradient * z;
    }
}

// Rows as a whole: a block a row, or a warp a row where rows are short.

extern "C" __global__ void normalize(
    size rows, size width, float epsilon, const float* scale, const float* shift, const float* input, word to_place, float* statistics
) {
    Place to(to_place);
    size row = blockIdx.x;
    const float* x = input + row * width;
    float sum = 0.0f;
    for (size j = threadIdx.x; j < width; j += blockDim.x) sum += x[j];
    float mean = block_sum(sum) / width;
    float squares = 0.0f;
    for (size j = threadIdx.x; j < width; j += blockDim.x) squares += (x[j] - mean) * (x[j] - mean);
    float inverse = 1.0f / sqrtf(block_sum(squares) / width + epsilon);
    for (size j = threadIdx.x; j < width; j += blockDim.x) {
        to.set(row * width + j, (x[j] - mean) * inverse * scale[j] + shift[j]);
    }
    if (threadIdx.x == 0) {
        statistics[2 * row] = mean;
        statistics[2 * row + 1] = inverse;
    }
}

// The same of rows that a warp holds: at most eight times 128 numbers.
extern "C" __global__ void normalize_short(
    size rows, size width, float epsilon, const float* scale, const float* shift, const float* input, word to_place, float* statistics
) {
    Place to(to_place);
    size row = (size)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    unsigned lane = threadIdx.x & 31;
    if (row >= rows) return;
    const float* x = input + row * width;
    float own[8][4], sum = 0.0f, squares = 0.0f;
    #pragma unroll
    for (int k = 0; k < 8; k++) {
        #pragma unroll
        for (int i = 0; i < 4; i++) own[k][i] = 128 * k < width ? x[128 * k + 32 * i + lane] : 0.0f;
        sum += own[k][0] + own[k][1] + (own[k][2] + own[k][3]);
    }
    float mean = warp_sum(sum) / width;
    #pragma unroll
    for (int k = 0; k < 8; k++) {
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            own[k][i] -= mean;
            if (128 * k < width) squares += own[k][i] * own[k][i];
        }
    }
    float inverse = 1.0f / sqrtf(warp_sum(squares) / width + epsilon);
    #pragma unroll
    for (int k = 0; k < 8; k++) {
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            unsigned j = 128 * k + 32 * i + lane;
            if (128 * k < width) to.set(row * width + j, own[k][i] * inverse * scale[j] + shift[j]);
        }
    }
    if (lane == 0) {
        statistics[2 * row] = mean;
        statistics[2 * row + 1] = inverse;
    }
}

extern "C" __global__ void normalize_backward(
    size rows, size width, const float* scale, const float* input, const float* statistics, word gradient_place,
    word residual_place, word to_place
) {
    Place gradient(gradient_place), residual(residual_place), to(to_place);
    size row = blockIdx.x, start = row * width;
    float mean = statistics[2 * row], inverse = statistics[2 * row + 1];
    float one = 0.0f, along = 0.0f;
    for (size j = threadIdx.x; j < width; j += blockDim.x) {
        float u = gradient.one(start + j) * scale[j];
        one += u;
        along += u * (input[start + j] - mean) * inverse;
    }
    one = block_sum(one) / width;
    along = block_sum(along) / width;
    for (size j = threadIdx.x; j < width; j += blockDim.x) {
        float u = gradient.one(start + j) * scale[j];
        float through = inverse * (u - one - (input[start + j] - mean) * inverse * along);
        to.set(start + j, residual.at ? through + residual.one(start + j) : through);
    }
}

extern "C" __global__ void normalize_backward_short(
    size rows, size width, const float* scale, const float* input, const float* statistics, word gradient_place,
    word residual_place, word to_place
) {
    Place gradient(gradient_place), residual(residual_place), to(to_place);
    size row = (size)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5), start = row * width;
    unsigned lane = threadIdx.x & 31;
    if (row >= rows) return;
    float mean = statistics[2 * row], inverse = statistics[2 * row + 1];
    float own[8][4], along_own[8][4], one = 0.0f, along = 0.0f;
    #pragma unroll
    for (int k = 0; k < 8; k++) {
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            unsigned j = 128 * k + 32 * i + lane;
            bool there = 128 * k < width;
            own[k][i] = there ? gradient.one(start + j) * scale[j] : 0.0f;
            along_own[k][i] = there ? (input[start + j] - mean) * inverse : 0.0f;
            one += own[k][i];
            along += own[k][i] * along_own[k][i];
        }
    }
    one = warp_sum(one) / width;
    along = warp_sum(along) / width;
    #pragma unroll
    for (int k = 0; k < 8; k++) {
        #pragma unroll
        for (int i = 0; i < 4; i++) {
            unsigned j = 128 * k + 32 * i + lane;
            if (128 * k < width) {
                float through = inverse * (own[k][i] - one - along_own[k][i] * along);
                to.set(start + j, residual.at ? through + residual.one(start + j) : through);
            }
        }
    }
}

// The gradient of scale and shift of each example. A block has 32 columns of one; its warps take turns at the steps, and their sums are added in order.
extern "C" __global__ void normalize_examples(
    size examples, size steps, size by_steps, size width, const float* input, const float* statistics,
    word gradient_place, float* example_gradients
) {
    Place gradient(gradient_place);
    Rows rows(examples, steps, by_steps);
    __shared__ float parts[2][32][33];
    unsigned warp = threadIdx.x >> 5, lane = threadIdx.x & 31, warps = blockDim.x >> 5;
    size example = blockIdx.x;
    for (size first = (size)blockIdx.y * 32; first < width; first += (size)gridDim.y * 32) {
        size j = first + lane;
        float scale = 0.0f, shift = 0.0f;
        if (j < width) {
            #pragma unroll 4
            for (unsigned t = warp; t < rows.steps; t += warps) {
                size row = rows.row(example, t);
                float g = gradient.one(row * width + j);
                scale += g * (input[row * width + j] - statistics[2 * row]) * statistics[2 * row + 1];
                shift += g;
            }
        }
        parts[0][warp][lane] = scale;
        parts[1][warp][lane] = shift;
        __syncthreads();
        if (warp < 2 && j < width) {
            float sum = 0.0f;
            for (unsigned other = 0; other < warps; other++) sum += parts[warp][other][lane];
            example_gradients[example * 2 * width + warp * width + j] = sum;
        }
        __syncthreads();
    }
}

extern "C" __global__ void causal_softmax(size count, size steps, float factor, float* scores) {
    size row = (size)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    unsigned lane = threadIdx.x & 31;
    if (row >= count * steps) return;
    float* x = scores + row * steps;
    size seen = row % steps + 1;
    float largest = LOWEST;
    for (size j = lane; j < seen; j += 32) largest = x[j] > largest ? x[j] : largest;
    for (int other = 16; other > 0; other >>= 1) {
        float theirs = __shfl_xor_sync(FULL, largest, other);
        largest = theirs > largest ? theirs : largest;
    }
    float sum = 0.0f;
    for (size j = lane; j < seen; j += 32) {
        float power = expf(factor * (x[j] - largest));
        x[j] = power;
        sum += power;
    }
    float share = 1.0f / warp_sum(sum);
    for (size j = lane; j < steps; j += 32) x[j] = j < seen ? x[j] * share : 0.0f;
}

extern "C" __global__ void causal_softmax_backward(
    size count, size steps, float factor, const float* probabilities, float* gradient
) {
    size row = (size)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    unsigned lane = threadIdx.x & 31;
    if (row >= count * steps) return;
    const float* p = probabilities + row * steps;
    float* g = gradient + row * steps;
    size seen = row % steps + 1;
    float sum = 0.0f;
    for (size j = lane; j < seen; j += 32) sum += g[j] * p[j];
    float mean = warp_sum(sum);
    for (size j = lane; j < steps; j += 32) g[j] = j < seen ? factor * p[j] * (g[j] - mean) : 0.0f;
}

// Logits of a row that a block keeps at hand, so that they are read once.
#define KEPT_LOGITS 11264

extern "C" __global__ void cross_entropy(
    size width, const float* bias, const unsigned* targets, const float* scales, size gradient, word place, float* losses
) {
    __shared__ __align__(16) float kept[KEPT_LOGITS];
    Place x(place);
    size row = blockIdx.x, start = row * width;
    float scale = scales[row];
    if (scale == 0.0f) {
        for (size j = threadIdx.x; j < width; j += blockDim.x) x.set(start + j, 0.0f);
        if (threadIdx.x == 0) losses[row] = 0.0f;
        return;
    }
    size target = targets[row];
    if (target >= width) __trap();
    float chosen = x.one(start + target) + (bias ? bias[target] : 0.0f);
    float largest = LOWEST, sum = 0.0f;
    if (x.half && width % 4 == 0 && width <= KEPT_LOGITS && x.fours() && aligned(bias)) {
        // Rounded logits, four at a time.
        #pragma unroll 2
        for (unsigned j = 4 * threadIdx.x; j < width; j += 4 * blockDim.x) {
            float4 v = x.four(start + j);
            if (bias) {
                float4 b = *(const float4*)(bias + j);
                v = make_float4(v.x + b.x, v.y + b.y, v.z + b.z, v.w + b.w);
            }
            *(float4*)(kept + j) = v;
            largest = v.x > largest ? v.x : largest;
            largest = v.y > largest ? v.y : largest;
            largest = v.z > largest ? v.z : largest;
            largest = v.w > largest ? v.w : largest;
        }
        largest = block_largest(largest);
        for (unsigned j = 4 * threadIdx.x; j < width; j += 4 * blockDim.x) {
            float4 v = *(float4*)(kept + j);
            v = make_float4(__expf(v.x - largest), __expf(v.y - largest), __expf(v.z - largest), __expf(v.w - largest));
            *(float4*)(kept + j) = v;
            sum += v.x + v.y + (v.z + v.w);
        }
        double total = block_sum((double)sum);
        if (threadIdx.x == 0) losses[row] = scale * ((float)log(total) - (chosen - largest));
        if (!gradient) return;
        float share = scale / (float)total;
        for (unsigned j = 4 * threadIdx.x; j < width; j += 4 * blockDim.x) {
            float4 v = *(float4*)(kept + j);
            v = make_float4(v.x * share, v.y * share, v.z * share, v.w * share);
            if (target - j < 4 && target >= j) (target == j ? v.x : target == j + 1 ? v.y : target == j + 2 ? v.z : v.w) -= scale;
            x.set4(start + j, v);
        }
        return;
    }
    bool keeps = width <= KEPT_LOGITS;
    #pragma unroll 4
    for (size j = threadIdx.x; j < width; j += blockDim.x) {
        float value = bias ? x.one(start + j) + bias[j] : x.one(start + j);
        if (keeps) kept[j] = value;
        largest = value > largest ? value : largest;
    }
    largest = block_largest(largest);
    // Each thread reads what it kept itself.
    for (size j = threadIdx.x; j < width; j += blockDim.x) {
        float power = expf((keeps ? kept[j] : bias ? x.one(start + j) + bias[j] : x.one(start + j)) - largest);
        if (keeps) kept[j] = power;
        sum += power;
    }
    double total = block_sum((double)sum);
    if (threadIdx.x == 0) losses[row] = scale * ((float)log(total) - (chosen - largest));
    if (gradient) {
        float share = scale / (float)total;
        for (size j = threadIdx.x; j < width; j += blockDim.x) {
            float power = (keeps ? kept[j] : expf((bias ? x.one(start + j) + bias[j] : x.one(start + j)) - largest)) * share;
            x.set(start + j, j == target ? power - scale : power);
        }
    }
}

extern "C" __global__ void squared_error(size width, const float* bias, const float* targets, float* values, float* losses) {
    size row = blockIdx.x, start = row * width;
    float sum = 0.0f;
    for (size j = threadIdx.x; j < width; j += blockDim.x) {
        float difference = (bias ? values[start + j] + bias[j] : values[start + j]) - targets[start + j];
        sum += difference * difference;
        values[start + j] = 2.0f / width * difference;
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) losses[row] = sum / width;
}
