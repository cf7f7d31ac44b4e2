// SPDX-License-Identifier: Apache-2.0
// A program whose host uses the standard library: what rests on types being one everywhere. Broken: its
// kernel reads what other threads write.
#include <any>
#include <exception>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <typeindex>
#include <typeinfo>

constexpr int threads = 32;
struct shape {
  virtual ~shape() = default;
};
struct circle : shape {};

__global__ void shift(int* x) {
  const int next = x[(threadIdx.x + 1) % threads];
#ifndef BROKEN
  __syncthreads();
#endif
  x[threadIdx.x] = next;  // FOUND: race or overwritten in use
}

int main() {
  const auto freed = [](int* p) { cudaFree(p); };
  int* raw = nullptr;
  cudaMalloc(&raw, threads * sizeof(int));
  const std::shared_ptr<int> x(raw, freed);
  cudaMemset(x.get(), 0, threads * sizeof(int));
  shift<<<1, threads>>>(x.get());
  const auto made = std::make_shared<int>(5);
  const std::unique_ptr<shape> some = std::make_unique<circle>();
  const std::map<std::type_index, int> known{{typeid(circle), 1}, {typeid(shape), 2}};
  const std::function<int()> f = [] { return 3; };
  std::any any = 4;
  std::promise<int> promised;
  promised.set_value(6);
  bool caught = false;
  try {
    std::any_cast<float>(any);
  } catch (const std::bad_any_cast&) {
    caught = true;
  }
  return !(*made == 5 && typeid(*some) == typeid(circle) && known.at(typeid(*some)) == 1 &&
           f.target_type() != typeid(int) && std::any_cast<int>(any) == 4 &&
           promised.get_future().get() == 6 && caught && std::get_deleter<decltype(freed)>(x) != nullptr);
}
