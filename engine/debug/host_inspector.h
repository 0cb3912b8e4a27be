// What the debug server asks of the host language: the user's variables and frames. Without a host (programs
// in C++) there is none.
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
  /// The answer, or a Failure. Called from several threads, of which none holds the host's lock; may take as
  /// long as the user's own code does. Where the flag is set the code is ended, and Cancelled is thrown.
  virtual protocol::Reply answer(const HostRequest& request, const CancelFlag& cancel) = 0;
};

}  // namespace tapedeck::debug
