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
