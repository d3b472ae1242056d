
// Norms of examples' gradients: a block an example, partial sums in `float` and their sums in `double`.

// Every norm comes with a bound on its error: see rounding.rs, which makes the factors that these kernels take.

// A part of the steps of each example: blockIdx.y of gridDim.y.
extern "C" __global__ void square_parts(
    size examples, size steps, size by_steps, double factor, word from, size stride, size width, double* parts
) {
    Rows rows(examples, steps, by_steps);
    Place values(from);
    unsigned first = steps * blockIdx.y / gridDim.y, end = steps * (blockIdx.y + 1) / gridDim.y;
    double total = 0.0;
    for (unsigned t = first; t < end; t++) {
        size row = rows.row(blockIdx.x, t) * stride;
        float part = 0.0f;
        for (size j = threadIdx.x; j < width; j += blockDim.x) part += values.one(row + j) * values.one(row + j);
        total += part;
    }
    total = block_sum(total);
    if (threadIdx.x == 0) parts[(size)blockIdx.x * gridDim.y + blockIdx.y] = (total + (end - first) * TINY) * factor;
}

// The length of each row, a little more.
extern "C" __global__ void row_lengths(word from, size stride, size width, float* lengths) {
    Place values(from);
    size row = (size)blockIdx.x * stride;
    float part = 0.0f;
    for (size j = threadIdx.x; j < width; j += blockDim.x) part += values.one(row + j) * values.one(row + j);
    part = block_sum(part);
    if (threadIdx.x == 0) lengths[blockIdx.x] = sqrtf(part + (float)TINY);
}

// What is at least the square, of a computed one and the lengths of the steps.
__device__ double square_bound(double total, double lengths, double error, double weighing) {
    double square = total + error * lengths * lengths;
    if (weighing > 0.0) {
        double norm = sqrt(square < 0.0 ? 0.0 : square) + weighing * lengths;
        square = norm * norm;
    }
    return square;
}

// A part of Σ (left + one)·right over the pairs of each example: blockIdx.y of gridDim.y.
extern "C" __global__ void pair_parts(size pairs, double one, const float* left, const float* right, double* parts) {
    const float* a = left + blockIdx.x * pairs;
    const float* b = right + blockIdx.x * pairs;
    size from = pairs * blockIdx.y / gridDim.y, to = pairs * (blockIdx.y + 1) / gridDim.y;
    double total = 0.0;
    for (size i = from + threadIdx.x; i < to; i += blockDim.x) total += ((double)a[i] + one) * (double)b[i];
    total = block_sum(total);
    if (threadIdx.x == 0) parts[(size)blockIdx.x * gridDim.y + blockIdx.y] = total;
}

// `weighing` is what rounding a weighted factor adds, in parts of the lengths.
extern "C" __global__ void pair_total(
    size steps, double one, double error, double weighing, const float* left, const float* right, size count,
    const double* parts, double* sums
) {
    size pairs = steps * steps;
    const float* a = left + blockIdx.x * pairs;
    const float* b = right + blockIdx.x * pairs;
    double lengths = 0.0;
    for (size t = threadIdx.x; t < steps; t += blockDim.x) {
        size i = t * (steps + 1);
        lengths += sqrt(((double)a[i] + one + TINY) * ((double)b[i] + TINY));
    }
    lengths = block_sum(lengths);
    if (threadIdx.x == 0) {
        double total = 0.0;
        for (size part = 0; part < count; part++) total += parts[blockIdx.x * count + part];
        sums[blockIdx.x] += square_bound(total, lengths, error, weighing);
    }
}

// `products` are those of the examples from `first` on; `heights` and `lengths` are those of all rows of both factors.
extern "C" __global__ void squares(
    size examples, size steps, size by_steps, size first, double factor, double error, size height, size width,
    const float* products, const float* heights, const float* lengths, double* sums
) {
    Rows rows(examples, steps, by_steps);
    unsigned example = first + blockIdx.x;
    const float* x = products + blockIdx.x * height * width;
    double total = 0.0, both = 0.0;
    for (size i = 0; i < height; i++) {
        float part = 0.0f;
        for (size j = threadIdx.x; j < width; j += blockDim.x) part += x[i * width + j] * x[i * width + j];
        total += part;
    }
    for (unsigned t = threadIdx.x; t < rows.steps; t += blockDim.x) {
        size row = rows.row(example, t);
        both += (double)heights[row] * (double)lengths[row];
    }
    total = block_sum(total);
    both = block_sum(both);
    double norm = sqrt((total + TINY) * factor) + error * both;
    if (threadIdx.x == 0) sums[example] += norm * norm;
}

// ‖Σ_t g_t‖² of each example.
extern "C" __global__ void total_norms(
    size examples, size steps, size by_steps, double factor, double error, size half, word from, size stride,
    size width, const float* lengths, double* sums
) {
    Rows rows(examples, steps, by_steps);
    Place values(from);
    double total = 0.0, all = 0.0;
    for (size j = threadIdx.x; j < width; j += blockDim.x) {
        float sum = 0.0f;
        #pragma unroll 8
        for (unsigned t = 0; t < rows.steps; t++) {
            float value = values.one(rows.row(blockIdx.x, t) * stride + j);
            sum += half ? rounded(value) : value;
        }
        total += (double)sum * sum;
    }
    for (unsigned t = threadIdx.x; t < rows.steps; t += blockDim.x) all += lengths[rows.row(blockIdx.x, t)];
    total = block_sum(total);
    all = block_sum(all);
    double norm = sqrt((total + TINY) * factor) + error * all;
    if (threadIdx.x == 0) sums[blockIdx.x] += norm * norm;
}

// A warp a step: its inner products with itself and with earlier steps of the same token. Blocks of an example take turns at its steps: blockIdx.y of gridDim.y.
extern "C" __global__ void token_parts(
    size examples, size steps, size by_steps, double error, const unsigned* tokens, const float* values, size stride,
    size width, const float* lengths, double* parts
) {
    Rows rows(examples, steps, by_steps);
    unsigned lane = threadIdx.x & 31;
    double total = 0.0, bound = 0.0;
    unsigned warps = blockDim.x >> 5;
    for (unsigned t = blockIdx.y * warps + (threadIdx.x >> 5); t < rows.steps; t += gridDim.y * warps) {
        size row = rows.row(blockIdx.x, t);
        const float* left = values + row * stride;
        unsigned token = tokens[row];
        for (unsigned first = 0; first <= t; first += 32) {
            // 32 earlier steps at a time: which of them have this token.
            unsigned mine = first + lane;
            unsigned alike = __ballot_sync(FULL, mine <= t && tokens[rows.row(blockIdx.x, mine <= t ? mine : t)] == token);
            while (alike) {
                unsigned s = first + __ffs(alike) - 1;
                alike &= alike - 1;
                size other = rows.row(blockIdx.x, s);
                const float* right = values + other * stride;
                float part = 0.0f;
                for (size j = lane; j < width; j += 32) part += left[j] * right[j];
                double times = s < t ? 2.0 : 1.0;
                total += times * (double)part;
                if (lane == 0) bound += times * (double)lengths[row] * (double)lengths[other];
            }
        }
    }
    total = block_sum(total);
    bound = block_sum(bound);
    if (threadIdx.x == 0) parts[(size)blockIdx.x * gridDim.y + blockIdx.y] = total + error * bound;
}

// Adds the parts of each example, in order.
extern "C" __global__ void add_up(size n, size count, const double* parts, double* sums) {
    EACH(i, n) {
        double total = 0.0;
        for (size part = 0; part < count; part++) total += parts[i * count + part];
        sums[i] += total;
    }
}

// `products` holds ⟨embedded_t, a_s⟩ of the examples from `first` on; `heights` and `lengths` are those of all rows of both factors.
extern "C" __global__ void tied_total(
    size examples, size steps, size by_steps, size first, double error, double weighing, const unsigned* tokens,
    const float* products, const float* heights, const float* lengths, const float* widths, word from,
    size stride, size width, double* sums
) {
    Rows rows(examples, steps, by_steps);
    Place logits(from);
    unsigned example = first + blockIdx.x, pairs = rows.steps * rows.steps;
    const float* product = products + (size)blockIdx.x * pairs;
    double total = 0.0, bound = 0.0;
    for (unsigned i = threadIdx.x; i < pairs; i += blockDim.x) {
        unsigned t = i / rows.steps, s = i % rows.steps;
        size token = tokens[rows.row(example, t)];
        if (token >= width) __trap();
        double logit = logits.one(rows.row(example, s) * stride + token);
        total += 2.0 * (double)product[i] * logit;
        bound += 2.0 * (double)heights[rows.row(example, t)] * (double)lengths[rows.row(example, s)] * fabs(logit);
    }
    // The embedding's part is `embedding` long at most, and the output layer's `output`.
    double embedding = 0.0, output = 0.0;
    for (unsigned t = threadIdx.x; weighing > 0.0 && t < rows.steps; t += blockDim.x) {
        size row = rows.row(example, t);
        embedding += heights[row];
        output += (double)lengths[row] * (double)widths[row];
    }
    total = block_sum(total);
    bound = block_sum(bound);
    embedding = block_sum(embedding);
    output = block_sum(output);
    if (threadIdx.x == 0) sums[example] += total + error * bound + 2.0 * weighing * embedding * output;
}

// Lines of contiguous numbers, each line of the copy at a multiple of eight; four numbers at a time where all lie so.
extern "C" __global__ void to_half(
    size n, size lines, size length, size stride, size batch, size pitch, size quads, const float* from, unsigned short* to
) {
    unsigned all = lines;
    if (quads) {
        unsigned width = length / 4;
        EACH(i, n / 4) {
            unsigned line = (unsigned)i / width, j = (unsigned)i % width;
            const float* values = from + (line / all) * batch + (line % all) * stride;
            *(uint2*)(to + line * pitch + 4 * j) = halves_of(((const float4*)values)[j], 1.0f);
        }
    } else {
        EACH(i, n) {
            size line = i / length, j = i % length;
            to[line * pitch + j] = half_of(from[line / all * batch + line % all * stride + j]);
        }
    }
}

// A weight that is 0, or so small that what it leaves would be below the normal numbers, makes zeros, whatever the row holds.
extern "C" __global__ void to_half_weighted(
    size examples, size steps, size by_steps, size first, size scaled, const float* weights, size n, size width,
    size stride, size pitch, size quads, word place, unsigned short* to
) {
    Rows rows(examples, steps, by_steps);
    Place from(place);
    if (quads) {
        unsigned quarter = width / 4;
        EACH(i, n / 4) {
            unsigned line = (unsigned)i / quarter, j = (unsigned)i % quarter;
            size row = first + line;
            float weight = weights[rows.example(row)];
            uint2 both = {0, 0};
            if (fabsf(weight) > LEAST_WEIGHT) {
                // Rounded before it is weighted: what is weighted is a factor of the gradient.
                float4 x = from.four(row * stride + 4 * j);
                x = make_float4(rounded(x.x), rounded(x.y), rounded(x.z), rounded(x.w));
                both = halves_of(x, scaled ? weight : 1.0f);
            }
            *(uint2*)(to + line * pitch + 4 * j) = both;
        }
    } else {
        EACH(i, n) {
            size line = i / width, j = i % width, row = first + line;
            float weight = weights[rows.example(row)];
            unsigned short value = 0;
            if (fabsf(weight) > LEAST_WEIGHT) value = half_of((scaled ? weight : 1.0f) * rounded(from.one(row * stride + j)));
            to[line * pitch + j] = value;
        }
    }
}

// Weighted sums. A weight of 0 makes zeros, whatever the row holds.

extern "C" __global__ void copy_weighted(
    size examples, size steps, size by_steps, size first, size scaled, const float* weights,
    const float* values, size stride, size width, float* into
) {
    Rows rows(examples, steps, by_steps);
    size row = first + blockIdx.x;
    float weight = weights[rows.example(row)];
    const float* from = values + row * stride;
    float* to = into + blockIdx.x * width;
    float factor = scaled ? weight : 1.0f;
    EACH_COLUMN(j, width) to[j] = weight == 0.0f ? 0.0f : factor * from[j];
}

// What the column of ones of a bias becomes: the weight of each row, or 1 where the other factor is weighted.
extern "C" __global__ void half_weights(
    size examples, size steps, size by_steps, size first, size scaled, const float* weights, size n, unsigned short* to
) {
    Rows rows(examples, steps, by_steps);
    EACH(i, n) {
        float weight = weights[rows.example(first + i)];
        to[i] = fabsf(weight) > LEAST_WEIGHT ? half_of(scaled ? weight : 1.0f) : 0;
    }
}

// Sums of some rows each, blockIdx.y of gridDim.y; columns over blockIdx.x.
extern "C" __global__ void sum_columns(
    size examples, size steps, size by_steps, size half, const float* weights, word place, size stride, size width, float* parts
) {
    Rows rows(examples, steps, by_steps);
    Place values(place);
    size count = examples * steps;
    size from = count * blockIdx.y / gridDim.y, to = count * (blockIdx.y + 1) / gridDim.y;
    size j = (size)blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= width) return;
    float sum = 0.0f;
    for (size row = from; row < to; row++) {
        float weight = weights[rows.example(row)];
        if (weight != 0.0f) sum += weight * (half ? rounded(values.one(row * stride + j)) : values.one(row * stride + j));
    }
    parts[blockIdx.y * width + j] = sum;
}

extern "C" __global__ void add_parts(size count, size width, const float* parts, float* into) {
    EACH(j, width) {
        float sum = 0.0f;
        for (size part = 0; part < count; part++) sum += parts[part * width + j];
        into[j] += sum;
    }
}

// Optimizers.

extern "C" __global__ void adam(
    size n, float rate, float keep_first, float take_first, float keep_second, float take_second, float first_correction,
    float second_correction, float epsilon, float decay, float noise, float floor, const float* gradient,
    float* parameters, float* first, float* second
) {
    EACH(i, n) {
        float g = gradient[i], p = parameters[i];
        float m = keep_first * first[i] + take_first * g;
        float v = keep_second * second[i] + take_second * g * g;
        first[i] = m;
        second[i] = v;
        float variance = v * second_correction - noise;
        variance = variance < floor ? floor : variance;
        parameters[i] = p - rate * (m * first_correction / (sqrtf(variance) + epsilon) + decay * p);
    }
}

extern "C" __global__ void momentum(
    size n, float rate, float momentum, float decay, const float* gradient, float* parameters, float* velocity
) {
    EACH(i, n) {
        float u = momentum * velocity[i] + gradient[i], p = parameters[i];
        velocity[i] = u;
        parameters[i] = p - rate * (u + decay * p);
    }
}

