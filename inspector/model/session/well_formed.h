// Whether the lists of an answer match: views index one by the other.
#pragma once

#include "engine/protocol/messages.h"

namespace tapedeck::inspector {

template <class Answer>
bool wellFormed(const Answer&) {
  return true;
}
bool wellFormed(const protocol::ProfileTrack& track);
bool wellFormed(const protocol::ProfileFlame& flame);  ///< parents come before their children
bool wellFormed(const protocol::ProfileSteps& steps);
bool wellFormed(const protocol::MemoryCurve& curve);
bool wellFormed(const protocol::HealthCurve& curve);

/// The failure of an answer that is not.
inline const protocol::Failure ill_formed{"The session's answer is malformed: its lists do not match.",
                                          "bad_answer"};

}  // namespace tapedeck::inspector
