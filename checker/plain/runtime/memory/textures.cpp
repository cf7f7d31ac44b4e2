// SPDX-License-Identifier: Apache-2.0
// Textures, surfaces and CUDA arrays of checked programs: their objects, memory and copies.
#include <antiphase/plain/libraries.h>
#include <antiphase/plain/textures.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "checker/plain/runtime/run.hpp"
#include "checker/plain/runtime/runtime.hpp"

namespace antiphase::plain {

namespace {
std::vector<texture_view>& textures() {
  static std::vector<texture_view> all;
  return all;
}
std::size_t bytes_of(const cudaChannelFormatDesc& d) {
  return static_cast<std::size_t>(d.x + d.y + d.z + d.w) / 8;
}
}  // namespace

void forget_textures() { textures().clear(); }
texture_view texture_of(unsigned long long object) {
  if (object == 0 || object > textures().size())
    machine::trap("a texture or surface object that nothing created", place::current());
  return textures()[object - 1];
}
cudaError_t create_texture(unsigned long long* object, const cudaResourceDesc& of,
                           const cudaTextureDesc* how) {
  texture_view t{};
  if (how != nullptr) t.sampling = *how;
  const auto& r = of.res;
  if (of.resType == cudaResourceTypeArray) {
    const cudaArray& a = *r.array.array;
    t = {a.data,    {a.width, a.rows(), a.depth > 0 ? a.depth : 1},
         a.pitch(), a.pitch() * a.rows(),
         a.element, a.desc,
         t.sampling};
  } else if (of.resType == cudaResourceTypeLinear) {
    const std::size_t element = bytes_of(r.linear.desc);
    t = {static_cast<unsigned char*>(r.linear.devPtr),
         {r.linear.sizeInBytes / element, 1, 1},
         0,
         0,
         element,
         r.linear.desc,
         t.sampling};
  } else if (of.resType == cudaResourceTypePitch2D) {
    t = {static_cast<unsigned char*>(r.pitch2D.devPtr),
         {r.pitch2D.width, r.pitch2D.height, 1},
         r.pitch2D.pitchInBytes,
         0,
         bytes_of(r.pitch2D.desc),
         r.pitch2D.desc,
         t.sampling};
  } else {
    refuse_use("a mipmapped array", "cudaMallocArray()");
  }
  textures().push_back(t);
  *object = textures().size();
  return cudaSuccess;
}
cudaError_t create_array(cudaArray_t* a, const cudaChannelFormatDesc& desc, cudaExtent e, place where) {
  const std::size_t element = bytes_of(desc);
  void* data = nullptr;
  const std::size_t count = e.width * (e.height > 0 ? e.height : 1) * (e.depth > 0 ? e.depth : 1);
  const cudaError_t done = allocate(&data, count * element, memory_kind::device, where);
  *a = new cudaArray{static_cast<unsigned char*>(data), desc, e.width, e.height, e.depth, element};
  return done;
}
bool holds(const cudaArray& a, cudaPos at, cudaExtent box, place where) {
  const std::size_t depth = a.depth > 0 ? a.depth : 1;
  const auto within = [](std::size_t first, std::size_t count, std::size_t extent) {
    return first <= extent && count <= extent - first;
  };
  return within(at.x, box.width, a.pitch()) && within(at.y, box.height, a.rows()) &&
                 within(at.z, box.depth, depth)
             ? true
             : bad_copy(where,
                        fmt::format("a copy of {} rows of {} bytes to or from a CUDA array",
                                    box.height * box.depth, box.width),
                        fmt::format("rows of {} bytes, {} of them{}, from byte {} of row {}", a.pitch(),
                                    a.rows(), depth > 1 ? fmt::format(", {} slices", depth) : "", at.x, at.y),
                        "a box that lies in the array: a row of an array has its width alone",
                        cudaErrorInvalidValue) == cudaSuccess;
}
// Of an array, widths and positions count elements; of other memory, bytes.
cudaError_t copy_box(const cudaMemcpy3DParms& p, cudaStream_t on, returns when, place where) {
  struct side {
    unsigned char* address;
    std::size_t pitch, slice;
  };
  const auto side_of = [](const cudaArray* a, const cudaPitchedPtr& m, const cudaPos& pos) -> side {
    if (a != nullptr)
      return {a->data + (pos.z * a->rows() + pos.y) * a->pitch() + pos.x * a->element, a->pitch(),
              a->pitch() * a->rows()};
    return {static_cast<unsigned char*>(m.ptr) + (pos.z * m.ysize + pos.y) * m.pitch + pos.x, m.pitch,
            m.pitch * m.ysize};
  };
  side from = side_of(p.srcArray, p.srcPtr, p.srcPos), to = side_of(p.dstArray, p.dstPtr, p.dstPos);
  const cudaArray* const array = p.srcArray != nullptr ? p.srcArray : p.dstArray;
  const std::size_t width = p.extent.width * (array != nullptr ? array->element : 1);
  if (p.extent.height <= 1 && p.extent.depth <= 1)  // a single row needs no pitch
    from.pitch = std::max(from.pitch, width), to.pitch = std::max(to.pitch, width);
  for (const auto& [a, pos] : {std::pair(p.srcArray, p.srcPos), std::pair(p.dstArray, p.dstPos)})
    if (a != nullptr &&
        !holds(*a, {pos.x * a->element, pos.y, pos.z}, {width, p.extent.height, p.extent.depth}, where))
      return cudaErrorInvalidValue;
  for (std::size_t z = 0; z < p.extent.depth; ++z)
    if (const cudaError_t e = copy_rows(to.address + z * to.slice, to.pitch, from.address + z * from.slice,
                                        from.pitch, width, p.extent.height, p.kind, on, when, where);
        e != cudaSuccess)
      return e;
  return cudaSuccess;
}

}  // namespace antiphase::plain
