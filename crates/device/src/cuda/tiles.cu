
// Norms from pairs of steps, of factors rounded to bf16: a block has 64 by 64 pairs of steps of one example and makes both inner products of each, so that no matrix of steps by steps is ever written.
// Tiles left of the diagonal are those right of it. A warp has 32 by 32 pairs.

#define TILE 64
// Columns that are on the chip at a time, and numbers from one line there to the next: eight more, so that reads meet no bank twice.
#define COLUMNS 64
#define PITCH (COLUMNS + 8)

// One factor: line t of example e is at `at + e * batch + t * row`.
struct Lines {
    const unsigned short* at;
    size row, batch;
    unsigned width;
    bool wide;
    __device__ Lines(const unsigned short* a, size r, size b, size w) : at(a), row(r), batch(b), width(w) {
        wide = ((size)a & 15) == 0 && r % 8 == 0 && b % 8 == 0;
    }
};

#if __CUDA_ARCH__ >= 800

__device__ void load_lines(const Lines& from, size example, unsigned first, unsigned steps, unsigned column, unsigned short* to) {
    for (unsigned i = threadIdx.x; i < TILE * COLUMNS / 8; i += blockDim.x) {
        unsigned line = i / (COLUMNS / 8), j = 8 * (i % (COLUMNS / 8)), at = column + j;
        unsigned short* place = to + line * PITCH + j;
        const unsigned short* values = from.at + example * from.batch + (size)(first + line) * from.row + at;
        if (first + line >= steps || at >= from.width) {
            *(uint4*)place = make_uint4(0, 0, 0, 0);
        } else if (from.wide && at + 8 <= from.width) {
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"((unsigned)__cvta_generic_to_shared(place)), "l"(values));
        } else {
            for (unsigned k = 0; k < 8; k++) place[k] = at + k < from.width ? values[k] : 0;
        }
    }
    asm volatile("cp.async.commit_group;");
}

// total += inner products over all columns of one factor. Sums on tensor cores start anew after `together` columns, and are added to the total in `float`.
__device__ void add_products(
    float (&total)[2][4][4], const Lines& from, size example, unsigned above, unsigned left, unsigned steps, unsigned together,
    unsigned short (*lines)[2][TILE * PITCH]
) {
    unsigned warp = threadIdx.x >> 5, lane = threadIdx.x & 31, down = 32 * (warp >> 1), across = 32 * (warp & 1);
    unsigned count = (from.width + COLUMNS - 1) / COLUMNS;
    bool same = above == left;
    float sums[2][4][4] = {};
    if (count > 0) {
        load_lines(from, example, above, steps, 0, lines[0][0]);
        if (!same) load_lines(from, example, left, steps, 0, lines[0][1]);
    }
    for (unsigned part = 0; part < count; part++) {
        asm volatile("cp.async.wait_group 0;");
        __syncthreads();
        // What the next loads overwrite was read before the barrier.
        if (part + 1 < count) {
            unsigned column = (part + 1) * COLUMNS, next = part + 1 & 1;
            load_lines(from, example, above, steps, column, lines[next][0]);
            if (!same) load_lines(from, example, left, steps, column, lines[next][1]);
        }
        const unsigned short* rows = lines[part & 1][0];
        const unsigned short* columns = lines[part & 1][same ? 0 : 1];
        #pragma unroll
        for (int k = 0; k < COLUMNS / 16; k++) {
            unsigned a[2][4], b[2][4];
            #pragma unroll
            for (int i = 0; i < 2; i++) {
                four_parts(a[i], rows + (down + 16 * i + (lane & 15)) * PITCH + 16 * k + 8 * (lane >> 4), false);
                four_parts(b[i], columns + (across + 16 * i + (lane & 7) + 8 * (lane >> 4)) * PITCH + 16 * k + (lane & 8), false);
            }
            #pragma unroll
            for (int i = 0; i < 2; i++) {
                #pragma unroll
                for (int n = 0; n < 4; n++) multiply_tile(sums[i][n], a[i], b[n >> 1][2 * (n & 1)], b[n >> 1][2 * (n & 1) + 1]);
            }
        }
        if ((part + 1) * COLUMNS % together == 0 || part + 1 == count) {
            #pragma unroll
            for (int i = 0; i < 2; i++) {
                #pragma unroll
                for (int n = 0; n < 4; n++) {
                    #pragma unroll
                    for (int k = 0; k < 4; k++) {
                        total[i][n][k] += sums[i][n][k];
                        sums[i][n][k] = 0.0f;
                    }
                }
            }
        }
    }
    __syncthreads();
}

#endif

// Σ (left + one)·right over the pairs of a tile, those off the diagonal twice, and the lengths of the steps on the diagonal.
extern "C" __global__ void pair_tiles(
    size steps, double one, size together, double* parts,
    const unsigned short* a0, size row0, size batch0, size width0, const unsigned short* a1, size row1, size batch1, size width1,
    const unsigned short* a2, size row2, size batch2, size width2, const unsigned short* a3, size row3, size batch3, size width3
) {
#if __CUDA_ARCH__ >= 800
    __shared__ __align__(16) unsigned short lines[2][2][TILE * PITCH];
    unsigned count = (steps + TILE - 1) / TILE, down = 0, rest = blockIdx.y;
    while (rest >= count - down) rest -= count - down++;
    unsigned above = TILE * down, left = TILE * (down + rest);
    float inputs[2][4][4] = {}, gradients[2][4][4] = {};
    add_products(inputs, Lines(a0, row0, batch0, width0), blockIdx.x, above, left, steps, together, lines);
    add_products(inputs, Lines(a1, row1, batch1, width1), blockIdx.x, above, left, steps, together, lines);
    add_products(gradients, Lines(a2, row2, batch2, width2), blockIdx.x, above, left, steps, together, lines);
    add_products(gradients, Lines(a3, row3, batch3, width3), blockIdx.x, above, left, steps, together, lines);
    unsigned warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    double total = 0.0, lengths = 0.0;
    #pragma unroll
    for (int i = 0; i < 2; i++) {
        #pragma unroll
        for (int n = 0; n < 4; n++) {
            #pragma unroll
            for (int k = 0; k < 4; k++) {
                unsigned t = above + 32 * (warp >> 1) + 16 * i + (lane >> 2) + 8 * (k >> 1);
                unsigned s = left + 32 * (warp & 1) + 8 * n + 2 * (lane & 3) + (k & 1);
                double a = (double)inputs[i][n][k] + one, g = gradients[i][n][k];
                if (t < steps && s < steps) total += a * g;
                if (t == s && t < steps) lengths += sqrt((a + TINY) * (g + TINY));
            }
        }
    }
    total = block_sum(total);
    lengths = block_sum(lengths);
    if (threadIdx.x == 0) {
        double* to = parts + 2 * ((size)blockIdx.x * gridDim.y + blockIdx.y);
        to[0] = rest == 0 ? total : 2.0 * total;
        to[1] = lengths;
    }
#else
    __trap();
#endif
}

// Adds the tiles of each example, in order. `weighing` is what rounding a weighted factor adds, in parts of the lengths.
extern "C" __global__ void pair_tiles_total(size n, size tiles, double error, double weighing, const double* parts, double* sums) {
    EACH(i, n) {
        double total = 0.0, lengths = 0.0;
        for (size tile = 0; tile < tiles; tile++) {
            total += parts[2 * (i * tiles + tile)];
            lengths += parts[2 * (i * tiles + tile) + 1];
        }
        sums[i] += square_bound(total, lengths, error, weighing);
    }
}
