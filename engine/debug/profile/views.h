// What is shown of sums: rows, a flame's nodes, the largest gaps. Functions of their arguments alone.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/debug/profile/index.h"
#include "engine/record/trace/source_location.h"

namespace tapedeck::debug {

/// What the numbers in classes mean.
struct ProfileTexts {
  std::function<SourceLocation(std::uint32_t location)> location = location_of;
  std::function<std::string(std::uint32_t scope)> scope;
  /// Jupyter's number of the cell's execution that the record is of; 0: not known.
  std::function<std::uint32_t(const std::string& cell, std::uint32_t record)> execution;
  ProfileTexts();
};

/// How long the machine takes for a class at its best, and what holds it up there.
struct Roof {
  double compute_ns = 0, memory_ns = 0, overhead_ns = 0;
  double ns() const;  ///< without the overhead
  protocol::ProfileBound bound() const;
  void add(const Roof& other);
};
/// Nothing where the peaks are not known.
Roof roof_of(const ClassSums& sums, bool wide, const protocol::Peaks& peaks);
Roof roof_of(double flops, double bytes, bool wide, const protocol::Peaks& peaks);

/// All rows of a table, filtered and sorted; equal ones in the order of their names.
std::vector<protocol::ProfileRow> profile_rows(const Sums& sums, const ProfileClasses& classes,
                                               const ProfileTexts& texts, const protocol::Peaks& peaks,
                                               const protocol::GetProfileTotals& asked);

/// At most `most` nodes: of those too small to be shown the last place of each parent has the sum, as "…".
std::vector<protocol::ProfileNode> profile_flame(const Sums& sums, const ProfileClasses& classes,
                                                 const ProfileTexts& texts, bool by_line, std::size_t most);

/// The thread whose records took the most time.
std::uint16_t busiest_thread(const Sums& sums);
/// "/gpu:0" of ProfileClass::gpu; empty: the host.
std::string device_text(std::uint8_t gpu);
/// Of one thread; what the user's own gradients take counts, too. The largest first.
std::vector<protocol::ProfileGap> profile_gaps(const Sums& sums, const ProfileClasses& classes,
                                               const ProfileTexts& texts, std::uint16_t thread);

}  // namespace tapedeck::debug
