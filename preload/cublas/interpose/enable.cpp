// SPDX-License-Identifier: Apache-2.0
// Redirects calls of cuBLAS in libraries that are loaded already, by their GOT slots, and restores them.
#include <antiphase_cublas.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/per_process.hpp"
#include "preload/cublas/interpose/enable.hpp"
#include "preload/cublas/interpose/libraries.hpp"
#include "preload/cublas/interpose/originals.hpp"

namespace antiphase::cublas {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t of_call = R_X86_64_JUMP_SLOT, of_address = R_X86_64_GLOB_DAT;
#elif defined(__aarch64__)
constexpr std::uint32_t of_call = R_AARCH64_JUMP_SLOT, of_address = R_AARCH64_GLOB_DAT;
#else
#error "which relocations are calls on this machine?"
#endif

using slot = std::atomic<void*>;
static_assert(sizeof(slot) == sizeof(void*));

// A library, or the program, whose name is empty.
struct object {
  std::string name;
  ElfW(Addr) base = 0;
  const ElfW(Dyn) * dynamic = nullptr;
  // RELRO pages: made read-only after relocation
  std::uintptr_t fixed_from = 0, fixed_to = 0;
};

int add_object(dl_phdr_info* info, std::size_t, void* all) {
  object o{.name = info->dlpi_name, .base = info->dlpi_addr};
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    const std::uintptr_t at = info->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_DYNAMIC) o.dynamic = reinterpret_cast<const ElfW(Dyn)*>(at);
    if (header.p_type == PT_GNU_RELRO)
      o.fixed_from = at / page * page, o.fixed_to = (at + header.p_memsz) / page * page;
  }
  if (o.dynamic != nullptr) static_cast<std::vector<object>*>(all)->push_back(std::move(o));
  return 0;
}

// Dynamic section of an object: relocation tables, symbols and names.
struct tables {
  struct list {
    const ElfW(Rela) * first = nullptr;
    std::size_t bytes = 0;
  };
  list calls, others;
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;

  explicit tables(const object& o) {
    // The C library has added the base to these addresses, except in objects that the kernel maps (vDSO).
    const auto at = [&](ElfW(Addr) address) { return address < o.base ? address + o.base : address; };
    for (const ElfW(Dyn)* d = o.dynamic; d->d_tag != DT_NULL; ++d) switch (d->d_tag) {
        case DT_JMPREL: calls.first = reinterpret_cast<const ElfW(Rela)*>(at(d->d_un.d_ptr)); break;
        case DT_PLTRELSZ: calls.bytes = d->d_un.d_val; break;
        case DT_RELA: others.first = reinterpret_cast<const ElfW(Rela)*>(at(d->d_un.d_ptr)); break;
        case DT_RELASZ: others.bytes = d->d_un.d_val; break;
        case DT_SYMTAB: symbols = reinterpret_cast<const ElfW(Sym)*>(at(d->d_un.d_ptr)); break;
        case DT_STRTAB: names = reinterpret_cast<const char*>(at(d->d_un.d_ptr)); break;
        default: break;
      }
  }
};

std::optional<function> function_called(const char* name) {
  if (std::strncmp(name, "cublas", 6) != 0) return std::nullopt;
  for (int i = 0; i < functions; ++i)
    if (std::strcmp(name, name_of(static_cast<function>(i))) == 0) return static_cast<function>(i);
  return std::nullopt;
}

// Calls f(slot, function) for each slot of the object that refers to a function we replace.
template <class F> void for_each_slot(const object& o, F f) {
  const tables t(o);
  if (t.symbols == nullptr || t.names == nullptr) return;
  for (const tables::list& all : {t.calls, t.others})
    for (std::size_t i = 0; all.first != nullptr && i < all.bytes / sizeof(ElfW(Rela)); ++i) {
      const ElfW(Rela)& r = all.first[i];
      const auto kind = ELF64_R_TYPE(r.r_info);
      if (kind != of_call && kind != of_address) continue;
      if (const auto which = function_called(t.names + t.symbols[ELF64_R_SYM(r.r_info)].st_name))
        f(*reinterpret_cast<slot*>(o.base + r.r_offset), *which);
    }
}

// Writes the slot, making a RELRO page writable meanwhile. False: that failed.
bool write(const object& o, slot& to, void* value) {
  const auto address = reinterpret_cast<std::uintptr_t>(&to);
  const auto bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  void* const page = reinterpret_cast<void*>(address / bytes * bytes);
  const bool fixed = address >= o.fixed_from && address < o.fixed_to;
  if (fixed && mprotect(page, bytes, PROT_READ | PROT_WRITE) != 0) return false;
  to.store(value);
  if (fixed) mprotect(page, bytes, PROT_READ);
  return true;
}

// Locked around dl_iterate_phdr(): the C library's lock of its list of objects stays locked in a child forked
// meanwhile.
constinit std::mutex looked_through;

// All loaded objects except cuBLAS and this library, each kept from being unloaded. They are not examined
// within dl_iterate_phdr(), which holds a lock that dlopen() needs.
class held_objects {
 public:
  held_objects() {
    std::vector<object> all;
    {
      const std::scoped_lock lock(looked_through);
      dl_iterate_phdr(add_object, &all);
    }
    for (object& o : all) {
      if (is_cublas(o.dynamic) || is_ours(o.dynamic)) continue;
      void* const handle = o.name.empty() ? loaded_program() : loaded(o.name.c_str());
      if (handle == nullptr) continue;
      // It may have been unloaded meanwhile, and another one of that name loaded.
      const link_map* is = nullptr;
      if (dlinfo(handle, RTLD_DI_LINKMAP, &is) == 0 && is->l_ld == o.dynamic)
        held_.push_back({std::move(o), handle});
      else
        let_go(handle);
    }
  }
  held_objects(const held_objects&) = delete;
  held_objects& operator=(const held_objects&) = delete;
  ~held_objects() {
    for (const held& h : held_) let_go(h.handle);
  }
  struct held {
    cublas::object object;
    void* handle;
  };
  const std::vector<held>& all() const { return held_; }

 private:
  std::vector<held> held_;
};

// The cuBLAS function that a call through the slot reaches; null: none.
void* end_of(const held_objects::held& in, void* value, function which) {
  if (is_cublas(value)) return value;
  // A lazily bound slot that was not called yet points into its own library, at the code that resolves it.
  if (beginning_of(value) != beginning_of(in.object.dynamic)) return nullptr;
  void* const found = function_in(in.handle, name_of(which));
  return is_cublas(found) ? found : nullptr;
}

// Previous values of redirected slots. Never destroyed: they may be needed during exit.
struct changes {
  std::mutex change;
  std::unordered_map<slot*, void*> before;
};
changes& changed() {
  static constinit made_once<changes> all;
  return all.get([] { return changes(); });
}

// A child also needs the previous values, and the ends of calls through them, consistent: fork() waits for
// changes in progress.
void before_fork() {
  changed().change.lock();
  looked_through.lock();
  lock_ends();
}
void after_fork() {
  unlock_ends();
  looked_through.unlock();
  changed().change.unlock();
}
const int waited_for = pthread_atfork(before_fork, after_fork, after_fork);

std::atomic<bool> enabled = false;

int take_slots() {
  enabled = true;
  const held_objects objects;
  changes& made = changed();
  const std::scoped_lock lock(made.change);
  int count = 0;
  for (const held_objects::held& o : objects.all())
    for_each_slot(o.object, [&](slot& s, function which) {
      void* const value = s.load();
      void* const end = end_of(o, value, which);
      if (end == nullptr) return;
      lead_back(which, o.object.dynamic, end);
      made.before[&s] = value;
      count += write(o.object, s, entry_of(which));
    });
  return count;
}

int give_slots_back() {
  const held_objects objects;
  changes& made = changed();
  const std::scoped_lock lock(made.change);
  int count = 0;
  for (const held_objects::held& o : objects.all())
    for_each_slot(o.object, [&](slot& s, function which) {
      const auto known = made.before.find(&s);
      if (known != made.before.end() && s.load() == entry_of(which))
        count += write(o.object, s, known->second);
    });
  made.before.clear();
  return count;
}

template <class F> int guarded(F f) noexcept try { return f(); } catch (...) {
  return -1;
}

}  // namespace

bool has_been_enabled() { return enabled; }

}  // namespace antiphase::cublas

int antiphase_cublas_enable() { return antiphase::cublas::guarded(antiphase::cublas::take_slots); }
int antiphase_cublas_disable() { return antiphase::cublas::guarded(antiphase::cublas::give_slots_back); }
