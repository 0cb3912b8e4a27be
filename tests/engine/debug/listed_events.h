// Records of a profile that a test lists.
#pragma once

#include "engine/debug/profile/index.h"
#include "engine/debug/profile/views.h"

namespace listed {

using namespace tapedeck;
using namespace tapedeck::debug;

inline constexpr auto no_limit = std::chrono::steady_clock::time_point::max();

/// Records in memory. Names represent classes; a scope's number is its index in texts().
class ListedEvents final : public ProfileEvents {
 public:
  std::vector<ProfileEvent> all;
  ProfileClasses known;
  std::uint32_t kept = 1;
  std::uint32_t visited = 0;

  std::uint32_t oldest() const override { return kept; }
  std::uint32_t newest() const override { return static_cast<std::uint32_t>(all.size()); }
  std::uint32_t visit(std::uint32_t first, std::uint32_t last, const Visit& visit) override {
    for (std::uint32_t number = std::max(first, kept); number <= std::min(last, newest());
         ++number, ++visited)
      visit(all[number - 1]);
    return std::max(first, std::min(last, newest()) + 1);
  }
  const ProfileClasses& classes() const override { return known; }

  ProfileEvent& add(const std::string& op, std::int64_t start, std::int64_t duration, std::uint32_t line = 1,
                    std::uint16_t depth = 0, std::uint16_t thread = 0,
                    ProfileRole role = ProfileRole::forward, bool inner = false) {
    ProfileClass of;
    of.op = op;
    of.role = role;
    of.location = line;
    of.scope = line % 3;
    of.inner = inner;
    ProfileEvent event;
    event.number = newest() + 1;
    event.thread = thread;
    event.depth = depth;
    event.kind = known.number(of);
    event.ended = true;
    event.inner = inner;
    event.start = start;
    event.duration = duration;
    all.push_back(event);
    return all.back();
  }
};

inline ProfileTexts texts() {
  ProfileTexts texts;
  texts.location = [](std::uint32_t line) {
    SourceLocation place;
    if (line != 0) place = {line > 20 ? "cell-b" : "cell-a", "", line};
    return place;
  };
  texts.scope = [](std::uint32_t scope) {
    return std::vector<std::string>{"", "encoder/dense", "encoder/norm"}[scope];
  };
  return texts;
}

inline void pass_all(ProfileIndex& index, const ListedEvents& events) {
  index.advance(no_limit, events.newest());
}

}  // namespace listed
