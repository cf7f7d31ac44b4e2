// SPDX-License-Identifier: Apache-2.0
// Work on the host, spread over its processors.
#pragma once
#include <algorithm>
#include <cstddef>
#include <thread>
#include <vector>

namespace antiphase::tool {

// Runs run(first, last) concurrently for parts that cover [0, count); it must not throw. Every part has at
// least `least` elements, unless there is only one part.
template <class Run> void in_parallel(std::size_t count, Run run, std::size_t least = 1 << 14) {
  const std::size_t parts =
      std::clamp<std::size_t>(count / least, 1, std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < parts; ++i)
    others.emplace_back([=] { run(count * i / parts, count * (i + 1) / parts); });
  run(std::size_t{0}, count / parts);
}

}  // namespace antiphase::tool
