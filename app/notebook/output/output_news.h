// What changed in a cell's outputs since its view was last updated.
#pragma once

#include <map>

#include "app/notebook/document/document.h"

namespace tapedeck::app {

struct OutputNews {
  bool all = false;
  /// Outputs that changed, and how many bytes of a stream's text stayed as they were.
  std::map<std::size_t, std::size_t> kept;

  void add(const OutputChange& change) {
    if (change.kind == OutputChange::Kind::all) all = true;
    if (change.kind == OutputChange::Kind::output) kept[change.output] = 0;
    if (change.kind == OutputChange::Kind::text) {
      const auto [at, fresh] = kept.emplace(change.output, change.kept);
      if (!fresh) at->second = std::min(at->second, change.kept);
    }
  }
  bool none() const { return !all && kept.empty(); }
};

}  // namespace tapedeck::app
