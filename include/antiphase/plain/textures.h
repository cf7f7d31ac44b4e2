// SPDX-License-Identifier: Apache-2.0
// Arrays, textures and surfaces of plain CUDA under the checker. An array is device memory, row by row; what
// a thread reads of a texture is checked as a read of that memory.
#pragma once
#include "device.h"
#include "host.h"

#include "letters.h"

// kinds
// -----------------------------------------------------------------------------------------------------------
enum cudaChannelFormatKind {
  cudaChannelFormatKindSigned,
  cudaChannelFormatKindUnsigned,
  cudaChannelFormatKindFloat,
  cudaChannelFormatKindNone
};
struct cudaChannelFormatDesc {
  int x, y, z, w;  // bits
  cudaChannelFormatKind f;
};
enum cudaTextureAddressMode {
  cudaAddressModeWrap,
  cudaAddressModeClamp,
  cudaAddressModeMirror,
  cudaAddressModeBorder
};
enum cudaTextureFilterMode { cudaFilterModePoint, cudaFilterModeLinear };
enum cudaTextureReadMode { cudaReadModeElementType, cudaReadModeNormalizedFloat };
enum cudaSurfaceBoundaryMode { cudaBoundaryModeZero, cudaBoundaryModeClamp, cudaBoundaryModeTrap };
enum cudaResourceType {
  cudaResourceTypeArray,
  cudaResourceTypeMipmappedArray,
  cudaResourceTypeLinear,
  cudaResourceTypePitch2D
};
struct cudaArray {
  unsigned char* data;
  cudaChannelFormatDesc desc;
  std::size_t width, height, depth, element;  // height and depth: 0 if it has fewer dimensions
  std::size_t rows() const { return height > 0 ? height : 1; }
  std::size_t pitch() const { return width * element; }
};
typedef const cudaArray* cudaArray_const_t;
struct cudaResourceDesc {
  cudaResourceType resType;
  union {
    struct {
      cudaArray_t array;
    } array;
    struct {
      void* devPtr;
      cudaChannelFormatDesc desc;
      std::size_t sizeInBytes;
    } linear;
    struct {
      void* devPtr;
      cudaChannelFormatDesc desc;
      std::size_t width, height, pitchInBytes;
    } pitch2D;
  } res;
};
struct cudaTextureDesc {
  cudaTextureAddressMode addressMode[3];
  cudaTextureFilterMode filterMode;
  cudaTextureReadMode readMode;
  int sRGB;
  float borderColor[4];
  int normalizedCoords;
  unsigned maxAnisotropy;
  cudaTextureFilterMode mipmapFilterMode;
  float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
  int disableTrilinearOptimization, seamlessCubemap;
};
struct cudaResourceViewDesc;
typedef unsigned long long cudaTextureObject_t, cudaSurfaceObject_t;
constexpr unsigned cudaArrayDefault = 0, cudaArraySurfaceLoadStore = 2;

namespace antiphase::plain {
template <class T> struct texel_type {  // scalars
  using part = T;
  static constexpr int parts = 1;
};
#define AP_TEXEL(name, type)               \
  template <> struct texel_type<name##1> { \
    using part = type;                     \
    static constexpr int parts = 1;        \
  };                                       \
  template <> struct texel_type<name##2> { \
    using part = type;                     \
    static constexpr int parts = 2;        \
  };                                       \
  template <> struct texel_type<name##4> { \
    using part = type;                     \
    static constexpr int parts = 4;        \
  };
AP_TEXEL(char, signed char)
AP_TEXEL(uchar, unsigned char)
AP_TEXEL(short, short)
AP_TEXEL(ushort, unsigned short)
AP_TEXEL(int, int)
AP_TEXEL(uint, unsigned)
AP_TEXEL(float, float)
#undef AP_TEXEL

// A texture or surface: what cudaCreateTextureObject() was given.
struct texture_view {
  unsigned char* data;
  std::size_t extent[3], pitch, slice, element;  // element: bytes
  cudaChannelFormatDesc desc;
  cudaTextureDesc sampling;
};
texture_view texture_of(unsigned long long object);
cudaError_t create_texture(unsigned long long* object, const cudaResourceDesc& of,
                           const cudaTextureDesc* how);
cudaError_t create_array(cudaArray_t* a, const cudaChannelFormatDesc& desc, cudaExtent extent, place where);
// True if an array has this box; otherwise a finding. Widths and x are in bytes.
bool holds(const cudaArray& a, cudaPos at, cudaExtent box, place where);

// The index that an address mode makes of one outside; -1: none, which reads as zero.
inline long texel_index(long i, std::size_t extent, cudaTextureAddressMode mode, bool normalized) {
  const long n = static_cast<long>(extent);
  if (i >= 0 && i < n) return i;
  if (mode == cudaAddressModeBorder) return -1;
  if (normalized && mode == cudaAddressModeWrap) return (i % n + n) % n;
  if (normalized && mode == cudaAddressModeMirror) {
    const long at = (i % (2 * n) + 2 * n) % (2 * n);
    return at < n ? at : 2 * n - 1 - at;
  }
  return i < 0 ? 0 : n - 1;
}
template <class T> AP_VERB T element_of(const texture_view& t, long x, long y, long z) {
  if (x < 0 || y < 0 || z < 0) return T{};
  const unsigned char* const at = t.data + static_cast<std::size_t>(z) * t.slice +
                                  static_cast<std::size_t>(y) * t.pitch +
                                  static_cast<std::size_t>(x) * t.element;
  using part = typename texel_type<T>::part;
  if constexpr (std::is_same_v<part, float>) {
    if (t.sampling.readMode == cudaReadModeNormalizedFloat && t.desc.f != cudaChannelFormatKindFloat) {
      unsigned char raw[16];
      float parts[4] = {};
      read_only(raw, at, t.element, "texture fetch");
      for (int i = 0; i < texel_type<T>::parts; ++i) {
        const bool bytes = t.desc.x == 8, with_sign = t.desc.f == cudaChannelFormatKindSigned;
        const int v = bytes       ? with_sign ? static_cast<signed char>(raw[i]) : raw[i]
                            : with_sign ? reinterpret_cast<const short*>(raw)[i]
                                  : reinterpret_cast<const unsigned short*>(raw)[i];
        const float most = bytes ? with_sign ? 127.0f : 255.0f : with_sign ? 32767.0f : 65535.0f;
        parts[i] = v / most < -1 ? -1 : v / most;
      }
      T value;
      std::memcpy(static_cast<void*>(&value), parts, sizeof value);
      return value;
    }
  }
  T value;
  read_only(&value, at, sizeof value < t.element ? sizeof value : t.element, "texture fetch");
  return value;
}
// As the CUDA guide has it: linear filtering weighs by fractions of 8 bits.
template <class T> AP_VERB T sample(const texture_view& t, int dimensions, float x, float y, float z) {
  const float at[3] = {x, y, z};
  const bool linear = t.sampling.filterMode == cudaFilterModeLinear;
  long low[3] = {}, high[3] = {};
  float part[3] = {};
  for (int d = 0; d < dimensions; ++d) {
    float c = t.sampling.normalizedCoords ? at[d] * static_cast<float>(t.extent[d]) : at[d];
    if (linear) c -= 0.5f;
    const float whole = std::floor(c);
    part[d] = linear ? std::nearbyint((c - whole) * 256) / 256 : 0;
    low[d] = texel_index(static_cast<long>(whole), t.extent[d], t.sampling.addressMode[d],
                         t.sampling.normalizedCoords);
    high[d] = texel_index(static_cast<long>(whole) + 1, t.extent[d], t.sampling.addressMode[d],
                          t.sampling.normalizedCoords);
  }
  if constexpr (std::is_same_v<typename texel_type<T>::part, float>) {
    if (linear) {
      constexpr int parts = texel_type<T>::parts;
      float sum[4] = {};
      for (int corner = 0; corner < 1 << dimensions; ++corner) {
        float weight = 1;
        long index[3] = {};
        for (int d = 0; d < dimensions; ++d) {
          const bool up = (corner >> d & 1) != 0;
          weight *= up ? part[d] : 1 - part[d];
          index[d] = up ? high[d] : low[d];
        }
        if (weight == 0) continue;
        const T value = element_of<T>(t, index[0], index[1], index[2]);
        float all[parts];
        std::memcpy(all, &value, sizeof all);
        for (int i = 0; i < parts; ++i) sum[i] += weight * all[i];
      }
      T result;
      std::memcpy(static_cast<void*>(&result), sum, sizeof result);
      return result;
    }
  }
  return element_of<T>(t, low[0], low[1], low[2]);
}
template <class T> AP_VERB T* surface_at(unsigned long long object, int x, int y, int z,
                                         cudaSurfaceBoundaryMode mode, place where) {
  const texture_view t = texture_of(object);
  const long n = static_cast<long>(t.extent[0] * t.element);
  const bool inside = x >= 0 && x < n && y >= 0 && y < static_cast<long>(t.extent[1]) && z >= 0 &&
                      z < static_cast<long>(t.extent[2]);
  if (!inside && mode == cudaBoundaryModeTrap) machine::trap("an access outside of a surface", where);
  if (!inside && mode == cudaBoundaryModeZero) return nullptr;
  const auto within = [](long i, std::size_t extent) {
    return static_cast<std::size_t>(texel_index(i, extent, cudaAddressModeClamp, false));
  };
  return reinterpret_cast<T*>(t.data + within(z, t.extent[2]) * t.slice + within(y, t.extent[1]) * t.pitch +
                              within(x / static_cast<long>(sizeof(T)), t.extent[0]) * sizeof(T));
}
template <class T> AP_VERB T surface_value(unsigned long long object, int x, int y, int z,
                                           cudaSurfaceBoundaryMode mode, place where) {
  T value{};
  if (const T* const at = surface_at<const T>(object, x, y, z, mode, where); at != nullptr)
    read_only(&value, at, sizeof value, "surface read");
  return value;
}

// tex of PTX: four numbers, of which those that an element has count.
namespace ptx {
template <class To> struct four_numbers {
  To x[4] = {};
};
template <class To, class T, class Coordinate> AP_VERB four_numbers<To> texel_as(const texture_view& t,
                                                                                 int dimensions, Coordinate x,
                                                                                 Coordinate y, Coordinate z) {
  using part = typename texel_type<T>::part;
  T value;
  if constexpr (std::is_same_v<Coordinate, int>)
    value = dimensions == 1 ? element_of<T>(t, x < static_cast<long>(t.extent[0]) ? x : -1, 0, 0)
                            : sample<T>(t, dimensions, x + .5f, y + .5f, z + .5f);  // the middle of a texel
  else
    value = sample<T>(t, dimensions, x, y, z);
  part parts[texel_type<T>::parts];
  std::memcpy(parts, static_cast<const void*>(&value), sizeof parts);
  four_numbers<To> all;
  for (int k = 0; k < texel_type<T>::parts; ++k) all.x[k] = static_cast<To>(parts[k]);
  return all;
}
template <class To, int Dimensions, class Coordinate>
AP_VERB four_numbers<To> texel(unsigned long object, Coordinate x, auto y, auto z) {
  const texture_view t = texture_of(object);
  const auto as = [&]<class One, class Two, class Four>(One, Two, Four) {
    const auto b = static_cast<Coordinate>(y), c = static_cast<Coordinate>(z);
    if (t.desc.z > 0) return texel_as<To, Four>(t, Dimensions, x, b, c);
    if (t.desc.y > 0) return texel_as<To, Two>(t, Dimensions, x, b, c);
    return texel_as<To, One>(t, Dimensions, x, b, c);
  };
  if constexpr (std::is_same_v<To, float>) {
    return as(float1(), float2(), float4());
  } else {
    const bool with_sign = t.desc.f == cudaChannelFormatKindSigned;
    if (t.desc.x == 8) return with_sign ? as(char1(), char2(), char4()) : as(uchar1(), uchar2(), uchar4());
    if (t.desc.x == 16)
      return with_sign ? as(short1(), short2(), short4()) : as(ushort1(), ushort2(), ushort4());
    return with_sign ? as(int1(), int2(), int4()) : as(uint1(), uint2(), uint4());
  }
}
}  // namespace ptx
}  // namespace antiphase::plain

// CUDA's names
// -----------------------------------------------------------------------------------------------------------
inline cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind f) {
  return {x, y, z, w, f};
}
template <class T> cudaChannelFormatDesc cudaCreateChannelDesc() {
  using texel = antiphase::plain::texel_type<T>;
  using part = typename texel::part;
  constexpr int bits = sizeof(part) * 8;
  return {bits, texel::parts > 1 ? bits : 0, texel::parts > 2 ? bits : 0, texel::parts > 2 ? bits : 0,
          std::is_floating_point_v<part> || !std::is_arithmetic_v<part> ? cudaChannelFormatKindFloat
          : std::is_signed_v<part>                                      ? cudaChannelFormatKindSigned
                                                                        : cudaChannelFormatKindUnsigned};
}
#define AP_CALL inline cudaError_t
AP_CALL cudaMallocArray(cudaArray_t* a, const cudaChannelFormatDesc* d, std::size_t w, std::size_t h = 0,
                        unsigned = 0, AP_AT) {
  return ap_plain::create_array(a, *d, {w, h, 0}, ap_at);
}
AP_CALL cudaMalloc3DArray(cudaArray_t* a, const cudaChannelFormatDesc* d, cudaExtent e, unsigned = 0, AP_AT) {
  return ap_plain::create_array(a, *d, e, ap_at);
}
AP_CALL cudaFreeArray(cudaArray_t a, AP_AT) {
  if (a == nullptr) return cudaSuccess;
  const cudaError_t e = ap_plain::release(a->data, ap_at);
  delete a;
  return e;
}
AP_CALL cudaMemcpy2DToArray(cudaArray_t a, std::size_t x, std::size_t y, const void* from, std::size_t pitch,
                            std::size_t w, std::size_t h, cudaMemcpyKind k, AP_AT) {
  if (!ap_plain::holds(*a, {x, y, 0}, {w, h, 1}, ap_at)) return cudaErrorInvalidValue;
  return ap_plain::copy_rows(a->data + y * a->pitch() + x, a->pitch(), from, pitch, w, h, k, nullptr,
                             ap_plain::returns::when_done, ap_at);
}
AP_CALL cudaMemcpy2DToArrayAsync(cudaArray_t a, std::size_t x, std::size_t y, const void* from,
                                 std::size_t pitch, std::size_t w, std::size_t h, cudaMemcpyKind k,
                                 cudaStream_t s = nullptr, AP_AT) {
  if (!ap_plain::holds(*a, {x, y, 0}, {w, h, 1}, ap_at)) return cudaErrorInvalidValue;
  return ap_plain::copy_rows(a->data + y * a->pitch() + x, a->pitch(), from, pitch, w, h, k, s,
                             ap_plain::returns::at_once, ap_at);
}
AP_CALL cudaMemcpy2DFromArray(void* to, std::size_t pitch, cudaArray_const_t a, std::size_t x, std::size_t y,
                              std::size_t w, std::size_t h, cudaMemcpyKind k, AP_AT) {
  if (!ap_plain::holds(*a, {x, y, 0}, {w, h, 1}, ap_at)) return cudaErrorInvalidValue;
  return ap_plain::copy_rows(to, pitch, a->data + y * a->pitch() + x, a->pitch(), w, h, k, nullptr,
                             ap_plain::returns::when_done, ap_at);
}
AP_CALL cudaMemcpyToArray(cudaArray_t a, std::size_t x, std::size_t y, const void* from, std::size_t n,
                          cudaMemcpyKind k, AP_AT) {
  return ap_plain::copy(a->data + y * a->pitch() + x, from, n, k, nullptr, ap_plain::returns::when_done,
                        ap_at);
}
AP_CALL cudaMemcpyFromArray(void* to, cudaArray_const_t a, std::size_t x, std::size_t y, std::size_t n,
                            cudaMemcpyKind k, AP_AT) {
  return ap_plain::copy(to, a->data + y * a->pitch() + x, n, k, nullptr, ap_plain::returns::when_done, ap_at);
}
AP_CALL cudaCreateTextureObject(cudaTextureObject_t* t, const cudaResourceDesc* of,
                                const cudaTextureDesc* how, const cudaResourceViewDesc*) {
  return ap_plain::create_texture(t, *of, how);
}
AP_CALL cudaCreateSurfaceObject(cudaSurfaceObject_t* t, const cudaResourceDesc* of) {
  return ap_plain::create_texture(t, *of, nullptr);
}
AP_CALL cudaDestroyTextureObject(cudaTextureObject_t) { return cudaSuccess; }
AP_CALL cudaDestroySurfaceObject(cudaSurfaceObject_t) { return cudaSuccess; }
#undef AP_CALL

template <class T> AP_VERB T tex1Dfetch(cudaTextureObject_t object, int i) {
  const antiphase::plain::texture_view t = antiphase::plain::texture_of(object);
  return antiphase::plain::element_of<T>(t, i < static_cast<long>(t.extent[0]) ? i : -1, 0, 0);
}
template <class T> AP_VERB T tex1D(cudaTextureObject_t t, float x) {
  return antiphase::plain::sample<T>(antiphase::plain::texture_of(t), 1, x, 0, 0);
}
template <class T> AP_VERB T tex2D(cudaTextureObject_t t, float x, float y) {
  return antiphase::plain::sample<T>(antiphase::plain::texture_of(t), 2, x, y, 0);
}
template <class T> AP_VERB T tex3D(cudaTextureObject_t t, float x, float y, float z) {
  return antiphase::plain::sample<T>(antiphase::plain::texture_of(t), 3, x, y, z);
}
template <class T> AP_VERB void tex1Dfetch(T* v, cudaTextureObject_t t, int i) { *v = tex1Dfetch<T>(t, i); }
template <class T> AP_VERB void tex1D(T* v, cudaTextureObject_t t, float x) { *v = tex1D<T>(t, x); }
template <class T> AP_VERB void tex2D(T* v, cudaTextureObject_t t, float x, float y) {
  *v = tex2D<T>(t, x, y);
}
template <class T> AP_VERB void tex3D(T* v, cudaTextureObject_t t, float x, float y, float z) {
  *v = tex3D<T>(t, x, y, z);
}
#define AP_SURFACE(n, y_and_z, y, z)                                                                         \
  template <class T> AP_VERB T surf##n##Dread(cudaSurfaceObject_t s, int x y_and_z,                          \
                                              cudaSurfaceBoundaryMode m = cudaBoundaryModeTrap, AP_AT) {     \
    return antiphase::plain::surface_value<T>(s, x, y, z, m, ap_at);                                         \
  }                                                                                                          \
  template <class T> AP_VERB void surf##n##Dread(T* v, cudaSurfaceObject_t s, int x y_and_z,                 \
                                                 cudaSurfaceBoundaryMode m = cudaBoundaryModeTrap, AP_AT) {  \
    *v = antiphase::plain::surface_value<T>(s, x, y, z, m, ap_at);                                           \
  }                                                                                                          \
  template <class T> AP_VERB void surf##n##Dwrite(T v, cudaSurfaceObject_t s, int x y_and_z,                 \
                                                  cudaSurfaceBoundaryMode m = cudaBoundaryModeTrap, AP_AT) { \
    if (T* const at = antiphase::plain::surface_at<T>(s, x, y, z, m, ap_at); at != nullptr) *at = v;         \
  }
#define AP_Y , int y
#define AP_YZ , int y, int z
AP_SURFACE(1, , 0, 0)
AP_SURFACE(2, AP_Y, y, 0)
AP_SURFACE(3, AP_YZ, y, z)
#undef AP_Y
#undef AP_YZ
#undef AP_SURFACE

#include "letters.h"
