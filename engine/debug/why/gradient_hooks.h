// What hooks of a PyTorch program made of gradients: hooks of tensors and of nodes, between VJPs or behind
// one, and full backward hooks of modules.
#pragma once

#include <optional>

#include "engine/debug/why/past.h"

namespace tapedeck::debug {

/// A gradient that a hook put in place of another one.
struct HookChange {
  const RecordView* op = nullptr;  ///< of the hook: the one that made it
  std::uint64_t before = 0;        ///< the gradient that it made it of; 0: of none that is known
  std::uint64_t after = 0;
};

/// nullopt: no op of a hook made it.
std::optional<HookChange> hook_change(Past& past, std::uint64_t gradient);

/// Whether the VJP is the place at which PyTorch calls a module's full backward hooks.
bool is_module_hook(const RecordView& vjp);

/// "a full backward hook of a module", "a hook of the program".
std::string hook_name(Past& past, const HookChange& change);

/// ", ×9 in every element"; empty where it is no common factor, or values are gone.
std::string hook_factor(Past& past, const HookChange& change);
/// False where its values are those that came in; true also where they cannot be compared.
bool changes_values(Past& past, const HookChange& change);

}  // namespace tapedeck::debug
