// What of a gradient its VJPs do not show: hooks that changed it, and ops in no VJP.
#pragma once

#include "engine/debug/why/gradient_hooks.h"
#include "engine/debug/why/vjp_check.h"

namespace tapedeck::debug {

/// What ran in the backward pass and may be on the path, but is not among its VJPs.
struct BesidePath {
  std::size_t view_writes = 0;  ///< VJPs of writes through views, where what those reach is guessed
  std::size_t ops = 0;          ///< of no VJP: of hooks, and of nodes that no record made
  const RecordView* first = nullptr;
  std::vector<HookChange> hooks = {};  ///< that changed the gradient on the path
  bool has_hooks = false;              ///< on the path, also such as changed nothing
};

/// `gradient`: what is asked about; 0: not known.
BesidePath beside_in(Past& past, const RecordView& playback, const GradientPath& path,
                     std::uint64_t gradient);

}  // namespace tapedeck::debug
