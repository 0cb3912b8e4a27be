// oneDNN beside a library that has another oneDNN in it, as PyTorch has. Its functions are not linked: a
// constructor loads the library with RTLD_DEEPBIND, so that what it calls is its own, and each function here
// is a jump through a slot which points into that one. They are hidden, so another library in the process
// neither takes them nor replaces them. So are the functions of OpenMP that set oneDNN's threads: PyTorch's
// OpenMP stays as its user set it. Built where TAPEDECK_ISOLATE_ONEDNN is on.
#include <dlfcn.h>

#include <string>

#include "engine/cpu/isolated/onednn_problem.h"

// One word a function: what the library exports, and the two of OpenMP (made by CMake).
#define TAPEDECK_SLOT(name) extern "C" [[gnu::visibility("hidden")]] void* tapedeck_slot_##name;
#include "engine/cpu/isolated/onednn_functions.inc"
#undef TAPEDECK_SLOT
#define TAPEDECK_SLOT(name) [[gnu::used]] void* tapedeck_slot_##name = nullptr;
#include "engine/cpu/isolated/onednn_functions.inc"
#undef TAPEDECK_SLOT

#if defined(__x86_64__)
#define TAPEDECK_JUMP(name) "  jmp *tapedeck_slot_" #name "(%rip)\n"
#elif defined(__aarch64__)
#define TAPEDECK_JUMP(name) \
  "  adrp x16, tapedeck_slot_" #name "\n  ldr x16, [x16, :lo12:tapedeck_slot_" #name "]\n  br x16\n"
#else
#error "isolated_onednn.cpp has no jump for this processor"
#endif
#define TAPEDECK_SLOT(name)                                                                        \
  asm(".text\n.p2align 4\n.globl " #name "\n.hidden " #name "\n.type " #name ", %function\n" #name \
      ":\n" TAPEDECK_JUMP(name) ".size " #name ", .-" #name "\n");
#include "engine/cpu/isolated/onednn_functions.inc"
#undef TAPEDECK_SLOT

namespace tapedeck::cpu {
namespace {

/// Constructors of other files may run before this file's objects exist.
std::string& problem() {
  static std::string sentence;
  return sentence;
}

void find(void* library, const char* name, void*& slot) {
  slot = dlsym(library, name);
  if (!slot && problem().empty()) problem() = std::string(TAPEDECK_ONEDNN_FILE " has no function ") + name;
}

[[gnu::constructor]] void load() {
  void* library = dlopen(TAPEDECK_ONEDNN_FILE, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (!library) {
    problem() = dlerror();
    return;
  }
#define TAPEDECK_SLOT(name) find(library, #name, tapedeck_slot_##name);
#include "engine/cpu/isolated/onednn_functions.inc"
#undef TAPEDECK_SLOT
}

}  // namespace

const std::string& onednn_problem() {
  return problem();
}

}  // namespace tapedeck::cpu
