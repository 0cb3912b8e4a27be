#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <unordered_map>

#include "engine/ops/core/op.h"

namespace tapedeck {
namespace {

struct Rows {
  std::shared_mutex mutex;
  std::deque<OpDef> ops;  // a deque, because references to its rows must stay valid
  std::unordered_map<std::string_view, const OpDef*> by_name;
};

// Never destroyed: records and tapes in static variables refer to ops until the program exits.
Rows& rows() {
  static Rows* instance = new Rows;
  return *instance;
}

[[noreturn]] void abort_with(const std::string& name, const char* what) {
  std::fprintf(stderr, "tapedeck: op '%s' %s\n", name.c_str(), what);
  std::abort();
}

}  // namespace

Registry& Registry::instance() {
  static Registry registry;
  return registry;
}

const OpDef& Registry::add(OpDef op) {
  if (op.name.empty()) abort_with(op.name, "has no name");
  if (!op.shape_rule || !op.forward) abort_with(op.name, "lacks its shape rule or its forward function");
  for (const AttributeSpec& attribute : op.attributes) {
    const std::uint32_t key = AttributeName::key_of(attribute.name);
    if (std::ranges::find(op.attribute_keys, key) != op.attribute_keys.end())
      abort_with(op.name, "has two attributes of one key");
    op.attribute_keys.push_back(key);
  }
  Rows& all = rows();
  std::lock_guard lock(all.mutex);
  if (all.by_name.contains(op.name)) abort_with(op.name, "is registered twice");
  op.index = static_cast<int>(all.ops.size());
  const OpDef& row = all.ops.emplace_back(std::move(op));
  all.by_name.emplace(row.name, &row);
  return row;
}

void Registry::describe(const OpDef& op, const OpFacts& facts) {
  Rows& all = rows();
  std::lock_guard lock(all.mutex);
  all.ops[static_cast<std::size_t>(op.index)].facts = facts;
}

const OpDef* Registry::find(std::string_view name) const {
  Rows& all = rows();
  std::shared_lock lock(all.mutex);
  const auto found = all.by_name.find(name);
  return found == all.by_name.end() ? nullptr : found->second;
}

const OpDef& Registry::at(int index) const {
  Rows& all = rows();
  std::shared_lock lock(all.mutex);
  if (index < 0 || static_cast<std::size_t>(index) >= all.ops.size())
    fail<OutOfRangeError>("there is no op number ", index, ": the registry has ", all.ops.size());
  return all.ops[static_cast<std::size_t>(index)];
}

std::size_t Registry::size() const {
  Rows& all = rows();
  std::shared_lock lock(all.mutex);
  return all.ops.size();
}

void OpDef::throw_unknown(AttributeName attribute) const {
  throw std::logic_error(name + ": has no attribute " + attribute.text());
}

}  // namespace tapedeck
