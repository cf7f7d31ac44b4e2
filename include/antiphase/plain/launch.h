// SPDX-License-Identifier: Apache-2.0
// What the pre-pass of `antiphase check` turns launches and shared variables of plain CUDA into.
#pragma once
#include <antiphase/executor/cpu/machine_plain.hpp>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

#include "vector_types.h"

// The last parameter of what findings name by its line: where it was called.
#define AP_AT ::antiphase::plain::place ap_at = ::antiphase::plain::place::current()

typedef antiphase::stream cudaStream_t;
struct antiphase_plain_event;

namespace antiphase::plain {

using machine::place;

// Indices of the running thread. A function runs in one thread, so calls may be merged (const).
[[gnu::const]] uint3 thread_idx() noexcept;
[[gnu::const]] uint3 block_idx() noexcept;
[[gnu::const]] dim3 block_dim() noexcept;
[[gnu::const]] dim3 grid_dim() noexcept;
[[gnu::const]] dim3 cluster_dim() noexcept;
[[gnu::const]] int lane() noexcept;
[[gnu::const]] bool on_device() noexcept;  // true in a kernel

// The running thread is about to end, having passed the block barriers in lines [from, after) of this file.
void leaves(unsigned from, unsigned behind, place where = place::current()) noexcept;
void enters_arm(int number) noexcept;  // of a branch that ends with the kernel

// Counts the rounds of a loop around block barriers: `for (rounds r; r.once();) for (...) { r.next(); ... }`.
class rounds {
 public:
  rounds() noexcept;
  ~rounds();
  rounds(const rounds&) = delete;
  rounds& operator=(const rounds&) = delete;
  bool once() noexcept { return !std::exchange(begun_, true); }
  void set(unsigned number) noexcept { own_.number = number; }
  void next() noexcept;  // not inline: a thread's registers tell of what it does, and it does not count

 private:
  machine::loop_rounds own_;
  bool begun_ = false;
};

void* dynamic_shared_memory(std::size_t align);
int register_cluster(const char* kernel, int x, int y = 1, int z = 1);  // __cluster_dims__; before main
// The same in the body of a template that is registered with 0: true if it was called to tell that only.
bool tells_cluster(int x, int y = 1, int z = 1) noexcept;
void keeps_bounds(long most);  // called by each thread of a kernel with __launch_bounds__
// A kernel's parameter without __grid_constant__: each thread has a copy.
void note_copied_parameter(const void* p, std::size_t bytes);
template <class P> void copied_parameter(const P& p) {
  constexpr std::size_t bytes_of_map = 128;
  if constexpr (sizeof(P) >= bytes_of_map) note_copied_parameter(__builtin_addressof(p), sizeof(P));
}
// A kernel's `parameter`, by number, that is a const pointer with __restrict__. In a process that shows what
// becomes of loads before all stores, the result points to what was there when the launch began.
const void* restricted(const void* p, int parameter);
template <class T> void restricted_parameter(const T* __restrict__& p, int parameter) {
  p = static_cast<const T*>(restricted(p, parameter));
}
template <class T> void restricted_parameter(const T* const __restrict__& p, int parameter) {
  restricted_parameter(const_cast<const T* __restrict__&>(p), parameter);
}
template <class T> void restricted_parameter(T&&, int) {}
[[noreturn]] void refused(const char* why);  // ends the run: something that is not supported was called
int add_note(const char* text);              // for the report; before main
// Kernels that nvcc has compiled, by their mangled names; before main. `call` gets the arguments' addresses.
int register_kernel(const char* name, void (*call)(const void* const*));
// The body of such a kernel in the host's part of its source.
void by_nvcc(std::initializer_list<const void*> arguments);
// Kernels and variables that nvcc's own host code names by their mangled names; before main.
int register_entry(const char* name, const void* entry, const char* shown, dim3 cluster);
int register_variable(const char* name, void* address, std::size_t bytes);
int set_variable(void* to, std::initializer_list<unsigned long> words, std::size_t bytes_of_word);
void name_host_symbol(const void* host, const char* name);  // the address that stands for it there
const void* kernel_of_host(const void* host);               // null: no such kernel
struct device_variable {
  void* address = nullptr;
  std::size_t bytes = 0;
};
device_variable variable_of_host(const void* host);
place place_of_host(const void* code);  // the user's line that has led to a call, by its return address
int register_shared(std::size_t bytes, std::size_t align);  // before main
int align_shared(std::size_t least);                        // of all variables; before main
// In the running block. `number` is read inside, where accesses are not instrumented.
void* shared_memory(const int* number, const char* name) noexcept;

template <class T, std::size_t Align, int Number> struct shared_variable {
  static inline const int number = register_shared(sizeof(T), Align > alignof(T) ? Align : alignof(T));
};
template <class T, std::size_t Align, int Number> [[gnu::always_inline]] inline T& shared(const char* name) {
  return *static_cast<T*>(shared_memory(&shared_variable<T, Align, Number>::number, name));
}
template <class T> [[gnu::always_inline]] inline T* dynamic_shared() {
  return static_cast<T*>(dynamic_shared_memory(alignof(T)));
}

struct config {
  dim3 grid, block;
  std::size_t shared = 0;
  cudaStream_t stream = nullptr;
  bool together = false;     // a cooperative launch
  bool overlaps = false;     // may begin when all blocks of the kernel before it let it (programmatic)
  unsigned cluster[3] = {};  // 0: what __cluster_dims__ says
  // Events recorded when all blocks of this launch have let others begin, or have begun.
  antiphase_plain_event *lets_begin = nullptr, *begun = nullptr;
  bool lets_begin_at_once = false;  // as far as the event is concerned
  config(dim3 g, dim3 b, std::size_t s = 0, cudaStream_t on = nullptr)
      : grid(g), block(b), shared(s), stream(on) {}
};
// Name of a kernel that is launched by its address: that of its function, if no other was set.
const char* name_of(const void* entry);
void set_name(const void* entry, const char* name);
// `entry`: address of the kernel, or null.
void launch(const char* name, const config& c, place where, const void* entry, std::size_t bytes,
            void (*body)(const void*), const void* params);

// An argument of a launch. CUDA copies it bytewise to the device and never destroys it there: constructors
// and destructors run for the host's copy alone, which the call of the kernel makes.
template <class T> struct argument {
  alignas(T) unsigned char bytes[sizeof(T)];
  T& is() { return *std::launder(reinterpret_cast<T*>(bytes)); }
};
// A class with a copy constructor or a destructor that does something is passed by its address (Itanium C++
// ABI), so that the kernel can be given the thread's bytes themselves, and neither is called. A constructor
// that takes anything would look like one that moves, so only classes without a copy are asked for theirs.
template <class T> constexpr bool by_address = (std::is_class_v<T> || std::is_union_v<T>)&&!(
    std::is_trivially_destructible_v<T> &&
    (std::is_copy_constructible_v<T> ? std::is_trivially_copy_constructible_v<T>
                                     : std::is_trivially_move_constructible_v<T>));
template <class P> struct passing {  // the parameter, and what it is made of
  using type = std::conditional_t<by_address<P>, P&, P>;
  using from = std::conditional_t<by_address<P>, P&, const P&>;
};
template <class P> struct passing<P&> {
  using type = P&;
  using from = P&;
};
template <class P> struct passing<P&&> {
  using type = P&&;
  using from = P&&;
};

template <class... P> struct call {
  using function = void (*)(P...);
  const char* name;
  plain::config config;
  machine::place place;
  function entry;
  struct bound {
    function entry;
    std::tuple<argument<std::decay_t<P>>...> arguments;
  };
  static void body(const void* p) {
    bound b;
    std::memcpy(static_cast<void*>(&b), p, sizeof b);
    std::apply(
        [&](auto&... a) {
          reinterpret_cast<void (*)(typename passing<P>::type...)>(b.entry)(
              static_cast<typename passing<P>::from>(a.is())...);
        },
        b.arguments);
  }
  void operator()(P... a) const { with(a...); }
  void with(const std::decay_t<P>&... a) const {
    bound b;
    b.entry = entry;
    std::apply([&](auto&... to) { (std::memcpy(to.bytes, __builtin_addressof(a), sizeof to.bytes), ...); },
               b.arguments);
    launch(name, config, place, reinterpret_cast<const void*>(entry), sizeof b, &body, &b);
  }
};
template <class... P> call<P...> go(void (*entry)(P...), const char* name, config how, place where) {
  return {name, how, where, entry};
}

// A type passed in place of a kernel's argument, such as a driver's array for a pointer.
template <class A>
concept stands_for_argument = requires {
  typename std::remove_cvref_t<A>::kernel_argument;
};
template <class A> decltype(auto) argument_of(A&& a) {
  if constexpr (stands_for_argument<A>)
    return static_cast<typename std::remove_cvref_t<A>::kernel_argument>(a);
  else
    return static_cast<A&&>(a);
}

// Launch of a template, or of another kernel without a single address. `F` calls it; `Entry`, called with the
// arguments, returns its address for them, or takes none if that is not known: then each thread's parameters
// are copies that their constructors make.
template <class Entry, std::size_t Count> constexpr bool has_parameters = false;
template <class... P, std::size_t Count>
constexpr bool has_parameters<void (*)(P...), Count> = sizeof...(P) == Count;
struct no_entry {};
template <class F, class Entry> struct any_call {
  const char* name;
  plain::config config;
  machine::place place;
  template <class... A> static void body(const void* p) {
    std::tuple<argument<A>...> b;
    std::memcpy(static_cast<void*>(&b), p, sizeof b);
    std::apply([](auto&... a) { F{}(a.is()...); }, b);
  }
  template <class... A>
  requires((!stands_for_argument<A> && std::is_copy_constructible_v<A>)&&...) void operator()(A... a) const {
    take(a...);
  }
  template <class... A>
  requires((stands_for_argument<A> || !std::is_copy_constructible_v<std::remove_cvref_t<A>>) || ...) void
  operator()(A&&... a) const {
    take(argument_of(std::forward<A>(a))...);
  }
  template <class... A> void take(A&&... a) const {
    if constexpr (std::is_invocable_v<Entry, A&...>) {
      if constexpr (has_parameters<std::invoke_result_t<Entry, A&...>, sizeof...(A)>)
        return at(Entry{}(a...), a...);
    }
    std::tuple<argument<std::decay_t<A>>...> b;
    std::apply([&](auto&... to) { (std::memcpy(to.bytes, __builtin_addressof(a), sizeof to.bytes), ...); },
               b);
    launch(name, config, place, nullptr, sizeof b, &body<std::decay_t<A>...>, &b);
  }
  template <class... P, class... A> void at(void (*entry)(P...), A&... a) const {
    call<P...>{name, config, place, entry}.with(
        static_cast<std::conditional_t<std::is_same_v<P, std::remove_cv_t<A>>, const P&, P>>(a)...);
  }
};
template <class F> any_call<F, no_entry> go_any(F, const char* name, config how, place where) {
  return {name, how, where};
}
template <class F, class Entry>
any_call<F, Entry> go_any(F, Entry, const char* name, config how, place where) {
  return {name, how, where};
}

}  // namespace antiphase::plain
