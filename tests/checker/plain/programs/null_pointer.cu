// SPDX-License-Identifier: Apache-2.0
// A list that ends with a null pointer. Broken: the kernel follows it.
struct item {
  int value;
  const item* next;
};
__global__ void add(const item* list, int* sum) {
#ifdef BROKEN
  for (int i = 0; i < 3; ++i) {
#else
  while (list != nullptr) {
#endif
    *sum += list->value;  // FOUND: access outside memory
    list = list->next;
  }
}

int main() {
  item* list;
  int *sum, h;
  cudaMallocManaged(&list, 2 * sizeof(item)), cudaMalloc(&sum, sizeof h), cudaMemset(sum, 0, sizeof h);
  list[0] = {3, list + 1}, list[1] = {4, nullptr};
  add<<<1, 1>>>(list, sum);
  cudaMemcpy(&h, sum, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(list), cudaFree(sum);
  return h != 7;
}
