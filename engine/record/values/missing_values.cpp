#include "engine/record/values/missing_values.h"

#include <map>
#include <mutex>

#include "engine/record/trace/trace.h"

namespace tapedeck {
namespace {

constexpr std::size_t most_missing = 100'000;

struct MissingValues {
  std::mutex mutex;
  std::map<std::uint64_t, std::uint32_t> reasons;  ///< the reason's number as a name, by tensor
};

MissingValues& missing_values() {
  static auto* all = new MissingValues;
  return *all;
}

}  // namespace

void note_missing_value(std::uint64_t tensor, const std::string& reason) {
  MissingValues& all = missing_values();
  const std::lock_guard lock(all.mutex);
  all.reasons.insert_or_assign(tensor, intern_name(reason));
  if (all.reasons.size() > most_missing) all.reasons.erase(all.reasons.begin());
}

std::string why_missing(std::uint64_t tensor) {
  MissingValues& all = missing_values();
  const std::lock_guard lock(all.mutex);
  const auto found = all.reasons.find(tensor);
  return found == all.reasons.end() ? std::string() : name_of(found->second);
}

}  // namespace tapedeck
