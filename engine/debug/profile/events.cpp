#include "engine/debug/profile/events.h"

#include "engine/debug/hashed.h"

namespace tapedeck::debug {

std::uint32_t ProfileClasses::number(const ProfileClass& of) {
  std::size_t hash = std::hash<std::string>()(of.op);
  const auto flags = static_cast<std::size_t>(of.role) | std::size_t{of.user_gradient} << 4 |
                     std::size_t{of.inner} << 5 | std::size_t{of.wide} << 6 | std::size_t{of.gpu} << 7;
  for (const std::size_t part : {flags, std::size_t{of.location}, std::size_t{of.scope}})
    hash = hashed(hash, part);
  std::vector<std::uint32_t>& same = by_hash_[hash];
  for (const std::uint32_t number : same)
    if (all_[number] == of) return number;
  same.push_back(static_cast<std::uint32_t>(all_.size()));
  all_.push_back(of);
  return same.back();
}

}  // namespace tapedeck::debug
