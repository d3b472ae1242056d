// Grids of whole numbers, in arithmetic that is the same on every machine: rounding to nearest, and conversions as IEEE 754 says.

extern "C" __global__ void to_grid(size n, double scale, const float* values, size* numbers) {
    const double most = 1125899906842624.0;
    EACH(i, n) {
        double rounded = rint((double)values[i] * scale);
        rounded = rounded < -most ? -most : rounded > most ? most : rounded;
        numbers[i] = rounded != rounded ? 0 : (size)rounded;
    }
}

extern "C" __global__ void from_grid(size n, double unit, const size* numbers, float* values) {
    EACH(i, n) values[i] = (float)((double)numbers[i] * unit);
}

extern "C" __global__ void take_at(size n, const size* places, const size* numbers, size* values) {
    EACH(i, n) values[i] = numbers[places[i]];
}

extern "C" __global__ void put_at(size n, const size* places, size* numbers, const size* values) {
    EACH(i, n) numbers[places[i]] = values[i];
}

// Polynomials over the field with 2^61 - 1 elements: a block a chunk.

#define PRIME ((1ull << 61) - 1)
#define MOST (1ll << 59)

// a * b + c, for a, b < 2^61 + 8 and c < 2^62; the result is below 2^61 + 8.
__device__ word field_step(word a, word b, word c) {
    word low = a * b, high = __umul64hi(a, b);
    low += c;
    high += low < c;
    word folded = (low & PRIME) + (high << 3 | low >> 61);
    return (folded & PRIME) + (folded >> 61);
}

__device__ word field_power(word x, unsigned exponent) {
    word power = 1;
    for (int bit = 31; bit >= 0; bit--) {
        power = field_step(power, power, 0);
        if (exponent >> bit & 1) power = field_step(power, x, 0);
    }
    return power;
}

__device__ word field_block_sum(word value) {
    __shared__ word parts[256];
    __syncthreads();
    parts[threadIdx.x] = value;
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) parts[threadIdx.x] = (parts[threadIdx.x] + parts[threadIdx.x + half]) % PRIME;
    }
    __syncthreads();
    return parts[0];
}

extern "C" __global__ void polynomials(size n, size chunk, word first, word second, const size* numbers, word* ends) {
    size start = blockIdx.x * chunk, len = n - start < chunk ? n - start : chunk;
    // Thread t has every number whose power is 255 - t more than a multiple of 256. Zeros before the first make them come out even, and change no polynomial.
    size turns = (len + blockDim.x - 1) / blockDim.x, at = threadIdx.x + len - turns * blockDim.x;
    word jumps[2] = {field_power(first, blockDim.x), field_power(second, blockDim.x)}, sums[2] = {0, 0};
    int wide = 0;
    for (; at < len; at += blockDim.x) {
        word digit = 0;
        if (at >= 0) {
            size number = numbers[start + at];
            wide |= number >= MOST || number <= -MOST;
            digit = (word)number + MOST;
        }
        for (int k = 0; k < 2; k++) sums[k] = field_step(sums[k], jumps[k], digit & (1ull << 62) - 1);
    }
    wide = __syncthreads_or(wide);
    for (int k = 0; k < 2; k++) {
        word rest = field_power(k ? second : first, blockDim.x - 1 - threadIdx.x);
        sums[k] = field_block_sum(field_step(sums[k], rest, 0) % PRIME);
    }
    if (threadIdx.x == 0) {
        ends[3 * blockIdx.x] = sums[0];
        ends[3 * blockIdx.x + 1] = sums[1];
        ends[3 * blockIdx.x + 2] = wide != 0;
    }
}

// Noise by place: `noise::PlacedGaussian` says what this is and why it is exact.

#define QUARTER(a, b, c, d) \
    a += b; d = __funnelshift_l(d ^ a, d ^ a, 16); \
    c += d; b = __funnelshift_l(b ^ c, b ^ c, 12); \
    a += b; d = __funnelshift_l(d ^ a, d ^ a, 8); \
    c += d; b = __funnelshift_l(b ^ c, b ^ c, 7);

struct Key {
    word parts[4];
    // A block of ChaCha12, with 64 bits of counter and 64 of stream.
    __device__ void block(word counter, word stream, unsigned* x) const {
        unsigned start[16] = {
            0x61707865u, 0x3320646eu, 0x79622d32u, 0x6b206574u,
            (unsigned)parts[0], (unsigned)(parts[0] >> 32), (unsigned)parts[1], (unsigned)(parts[1] >> 32),
            (unsigned)parts[2], (unsigned)(parts[2] >> 32), (unsigned)parts[3], (unsigned)(parts[3] >> 32),
            (unsigned)counter, (unsigned)(counter >> 32), (unsigned)stream, (unsigned)(stream >> 32)
        };
        #pragma unroll
        for (int i = 0; i < 16; i++) x[i] = start[i];
        for (int round = 0; round < 6; round++) {
            QUARTER(x[0], x[4], x[8], x[12])
            QUARTER(x[1], x[5], x[9], x[13])
            QUARTER(x[2], x[6], x[10], x[14])
            QUARTER(x[3], x[7], x[11], x[15])
            QUARTER(x[0], x[5], x[10], x[15])
            QUARTER(x[1], x[6], x[11], x[12])
            QUARTER(x[2], x[7], x[8], x[13])
            QUARTER(x[3], x[4], x[9], x[14])
        }
        #pragma unroll
        for (int i = 0; i < 16; i++) x[i] += start[i];
    }
};

#define DROPPED 0
#define KEPT 1
#define OPEN 2

struct Noise {
    const unsigned* entries;
    size ends;
    const unsigned* lows;
    const unsigned* aboves;
    word last, steepness, cut, half, shift;

    // What an attempt's 96 bits say; where it is kept, `noise` is what it stands for.
    __device__ int judged(unsigned first, unsigned place, unsigned coin, size* noise) const {
        unsigned entry = entries[first >> 20], rest = first >> 1 & (1 << 19) - 1, bound = entry & (1 << 20) - 1;
        word cell = entry >> 20;
        if (rest == bound) return OPEN;
        if (cell < 2047) {
            cell += rest > bound;
        } else {
            unsigned key = first >> 1;
            size low = 0, high = ends;
            while (low < high) {
                size middle = (low + high) / 2;
                if (lows[middle] < key) low = middle + 1;
                else high = middle;
            }
            if (low == ends || low == last || lows[low] == key || aboves[low] > key) return OPEN;
            cell = low;
        }
        word product = (word)place * ((cell << 33) + place >> 11) >> 32;
        word gamma = product * steepness >> 33, square = gamma * gamma >> 32, one = 1ull << 32;
        word most = one - gamma + square / 2 + 1;
        word least = one - gamma + square / 2 - ((square + 1) * gamma >> 32) / 6 - 4;
        word tossed = (word)(coin >> 16) << 16;
        if (tossed >= most) return DROPPED;
        if (tossed + 65536 > least) return OPEN;
        size magnitude = ((cell << 48 | (word)place << 16 | coin & 65535) >> cut) + half >> shift;
        *noise = first & 1 ? -magnitude : magnitude;
        return KEPT;
    }
};

__device__ size saturating_add(size a, size b) {
    size sum = (size)((word)a + (word)b);
    if (((a ^ sum) & (b ^ sum)) >= 0) return sum;
    return a < 0 ? (size)(1ull << 63) : (size)((1ull << 63) - 1);
}

// A thread has every sixteenth of 256 places, whose first attempts are in three blocks; it says which it leaves.
extern "C" __global__ void add_noise(
    size n, word key0, word key1, word key2, word key3, const unsigned* entries, size ends, const unsigned* lows,
    const unsigned* aboves, word last, word steepness, word cut, word half, word shift, size* numbers, unsigned short* left
) {
    Key key = {{key0, key1, key2, key3}};
    Noise noise = {entries, ends, lows, aboves, last, steepness, cut, half, shift};
    EACH(thread, (n + 255) / 256 * 16) {
        size first = thread / 16 * 256 + thread % 16, block = thread / 16 * 48 + thread % 16;
        unsigned words[16], places[16], coins[16];
        key.block(block, 0, words);
        key.block(block + 16, 0, places);
        key.block(block + 32, 0, coins);
        unsigned open = 0, dropped = 0;
        #pragma unroll
        for (int row = 0; row < 16; row++) {
            size at = first + 16 * row, moved = 0;
            if (at < n) {
                int verdict = noise.judged(words[row], places[row], coins[row], &moved);
                if (verdict == KEPT) numbers[at] = saturating_add(numbers[at], moved);
                else if (verdict == DROPPED) dropped |= 1u << row;
                else open |= 1u << row;
            }
        }
        // Five further attempts each; who needs more is left.
        while (dropped) {
            int row = __ffs(dropped) - 1, verdict = DROPPED;
            dropped &= dropped - 1;
            size at = first + 16 * row, moved = 0;
            unsigned later[16];
            key.block(0, 2 * at + 1, later);
            #pragma unroll
            for (int number = 0; number < 5; number++) {
                if (verdict == DROPPED) {
                    verdict = noise.judged(later[3 * number], later[3 * number + 1], later[3 * number + 2], &moved);
                }
            }
            if (verdict == KEPT) numbers[at] = saturating_add(numbers[at], moved);
            else open |= 1u << row;
        }
        left[thread] = open;
    }
}

// The threads that left places, with their masks. Their order is not the same from run to run: whoever reads the list sorts it.
extern "C" __global__ void list_left(size n, const unsigned short* masks, size most, word* count, word* list) {
    EACH(thread, n) {
        if (masks[thread]) {
            word place = atomicAdd(count, 1ull);
            if (place < most) list[place] = (word)thread << 16 | masks[thread];
        }
    }
}
