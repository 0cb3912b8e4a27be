// How a message's signature is compared.
#pragma once

#include <string>

namespace tapedeck::app {

/// Takes the same time for any two texts of one length: the time must not reveal how much of a signature was
/// right.
inline bool sameSignature(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= unsigned(a[i]) ^ unsigned(b[i]);
  return difference == 0;
}

}  // namespace tapedeck::app
