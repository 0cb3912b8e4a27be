// Resolves a client's change of many ops to changes that a branch is built from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/debug/vjp/vjp_call.h"
#include "engine/protocol/what_if.h"
#include "engine/record/replay/branch.h"

namespace tapedeck::debug {

struct ChangedSet {
  std::vector<Change> changes;
  std::uint64_t ops = 0;           ///< that are changed
  std::string sentence;            ///< "141 ops of gradient_descent are changed, in steps 60 to 200."
  std::vector<std::string> notes;  ///< what in the set is not changed
};

/// Throws BadRequest, which names what is wrong and where: a filter that is no condition or finds no op, a
/// subject that none of its ops has, a value that does not fit; and Cancelled. `find`: for filters that ask
/// for values.
ChangedSet changes_of(const Recorder& recorder, const protocol::SetChange& asked, const FindTensor& find,
                      const CancelFlag& cancel);

}  // namespace tapedeck::debug
