// The debug server's interface to the host language: the user's variables and frames. C++ programs have
// none.
#pragma once

#include <variant>

#include "engine/protocol/messages.h"
#include "engine/record/cancel.h"

namespace tapedeck::debug {

using HostRequest =
    std::variant<protocol::GetFrames, protocol::GetVariables, protocol::Evaluate, protocol::Assign,
                 protocol::Complete, protocol::HoldValue, protocol::SummarizeValue, protocol::FindNames>;

class HostInspector {
 public:
  virtual ~HostInspector() = default;
  /// The answer, or a Failure. Called from several threads, none of which holds the host's lock; takes as
  /// long as the user's own code. Setting the flag ends the code; Cancelled is thrown.
  virtual protocol::Reply answer(const HostRequest& request, const CancelFlag& cancel) = 0;
};

}  // namespace tapedeck::debug
