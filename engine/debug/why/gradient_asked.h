// Which gradient a question is about, where the user points at a tensor or a record.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "engine/debug/why/why.h"

namespace tapedeck::debug {

/// What is asked about: one VJP, or the gradient of a playback with respect to some tensors.
struct GradientAsked {
  const RecordView* vjp = nullptr;
  const RecordView* playback = nullptr;
  std::set<std::uint64_t> tensors;
  std::uint64_t gradient = 0;  ///< of a playback: what it gave for them; 0: not known
  std::string of;              ///< "w:0"
  std::string note;            ///< what happened to it since: sentences
  std::string refusal;         ///< why there is nothing to check
};

GradientAsked gradient_asked(Past& past, const Subject& subject);

}  // namespace tapedeck::debug
