// Code for CUDA; isthmus/features/gram_gpu.py has the twins in numpy.
extern "C" __global__ void add_lists(
    const long long first, const long long split, const int lanes, const int* docs, const int* values,
    const int weighted, const long long* entry_ptr, const long long* places, const long long* begins,
    int* tile, const long long width)
{
    const long long row = first + blockIdx.x;
    const long long limit = split > 0 ? split : row;
    int* out = tile + blockIdx.x * width;
    const int lane = threadIdx.x % lanes, groups = blockDim.x / lanes;
    for (long long e = entry_ptr[row] + threadIdx.x / lanes; e < entry_ptr[row + 1]; e += groups) {
        const long long place = places[e];
        const int own = weighted ? values[place] : 1;
        for (long long k = begins[e] + lane; k < place; k += lanes) {
            const int other = docs[k];
            if (other >= limit) break;
            atomicAdd(out + other, weighted ? own * values[k] : 1);
        }
    }
}

template <typename V, typename O>
__global__ void fill_rows(
    const V* values, const long long n, const long long* rows, const long long n_rows, const long long from,
    const long long width, const double* roots, const int unit, const int curved, const double* centre,
    const long long* group, const double* factor, O* out)
{
    const long long c = blockIdx.x * (long long)blockDim.x + threadIdx.x, j = from + c;
    if (c >= width) return;
    const double root = roots[j];
    for (long long r = blockIdx.y; r < n_rows; r += gridDim.y) {
        const long long i = rows[r];
        double v = unit && i == j ? 1.0 : (double)values[i * n + j] * roots[i] * root;
        if (curved) v = exp(v - 1.0);
        out[r * width + c] = (O)((v - centre[group[i] * n + j]) * factor[i]);
    }
}
