// A record as the profile sees it, and its source: the trace, or a test.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/protocol/profile.h"

namespace tapedeck::debug {

using protocol::ProfileRole;
using protocol::WorkTime;

/// What records have in common whose times are added up: an op at a place, for a layer.
struct ProfileClass {
  std::string op;
  ProfileRole role = ProfileRole::forward;
  bool user_gradient = false;  ///< what takes time in it beside its ops is the user's Python
  bool inner = false;          ///< a playback, VJP or custom gradient: ops run inside
  bool wide = false;           ///< float64 arithmetic
  std::uint8_t gpu = 0;        ///< that did the work, and 1; 0: the host
  std::uint32_t location = 0;  ///< location_of
  std::uint32_t scope = 0;     ///< scope_text
  bool operator==(const ProfileClass&) const = default;
};

/// Numbers for classes, from 0; the same for equal ones.
class ProfileClasses {
 public:
  std::uint32_t number(const ProfileClass& of);
  const ProfileClass& at(std::uint32_t number) const { return all_[number]; }
  std::size_t size() const { return all_.size(); }

 private:
  std::vector<ProfileClass> all_;
  std::unordered_map<std::size_t, std::vector<std::uint32_t>> by_hash_;
};

/// Times in nanoseconds since the recording began. Begin and duration are those of the host's call; what a
/// GPU was given there it did later.
struct ProfileEvent {
  std::uint32_t number = 0;
  std::uint16_t thread = 0, depth = 0;
  std::uint32_t kind = 0;  ///< its class
  bool ended = false;
  bool inner = false;  ///< other records may run inside
  std::int64_t start = 0;
  std::int64_t duration = 0;  ///< without time at the gate; 0 until it ended
  double flops = 0, bytes = 0;
  std::uint8_t gpu = 0;  ///< as in its class
  WorkTime work = WorkTime::host;
  std::int64_t work_start = 0, work_duration = 0;  ///< of a GPU, where known
  /// How long the op itself took; 0 where that is not known.
  std::int64_t own() const {
    return work == WorkTime::host ? duration : work == WorkTime::known ? work_duration : 0;
  }
};

/// The records of a session, by number.
class ProfileEvents {
 public:
  using Visit = std::function<void(const ProfileEvent&)>;
  virtual ~ProfileEvents() = default;
  virtual std::uint32_t oldest() const = 0;  ///< that is kept
  virtual std::uint32_t newest() const = 0;
  /// Shows those of [first, last] that are kept, in order; returns the number after the last one shown.
  virtual std::uint32_t visit(std::uint32_t first, std::uint32_t last, const Visit& visit) = 0;
  virtual const ProfileClasses& classes() const = 0;
};

}  // namespace tapedeck::debug
