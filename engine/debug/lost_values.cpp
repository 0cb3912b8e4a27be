#include "engine/debug/lost_values.h"

#include <algorithm>
#include <string>

#include "engine/debug/tile.h"
#include "engine/record/trace/tensor_specs.h"

namespace tapedeck::debug {
namespace {

constexpr std::size_t most_asked = 4096;
constexpr std::uint32_t records_at_once = 2048;

}  // namespace

void TensorSet::insert(std::uint64_t id) {
  auto& block = blocks_[id / block_size];
  if (!block) block = std::make_unique<std::bitset<block_size>>();
  block->set(id % block_size);
}

bool TensorSet::contains(std::uint64_t id) const {
  const auto block = blocks_.find(id / block_size);
  return block != blocks_.end() && block->second->test(id % block_size);
}

/// A copy: what is asked about its tensors may wait, and nobody may forget records meanwhile.
struct LostValues::Seen {
  std::uint32_t number = 0;
  bool is_op = false;
  TensorIds inputs, outputs;
  explicit Seen(const RecordGlance& glance)
      : number(glance.number),
        is_op(glance.head.kind == EventKind::op && glance.state == RecordState::done),
        inputs(glance.inputs.begin(), glance.inputs.end()),
        outputs(glance.outputs.begin(), glance.outputs.end()) {}
};

void LostValues::start_anew(std::uint64_t version) {
  held_.clear();
  known_.clear();
  lost_.clear();
  next_ = std::max(recorder_.trace().oldest_kept(), 1u);
  newest_ = detail::newest_tensor_id();
  for (const std::uint64_t id : recorder_.values().lasting_ids()) held_.insert(id);
  version_ = version;
}

protocol::LostRecords LostValues::read(const protocol::GetLostRecords& request, const CancelFlag* cancel) {
  if (request.records.size() > most_asked)
    throw BadRequest("get_lost_records: " + std::to_string(request.records.size()) +
                     " records were asked about, the most is " + std::to_string(most_asked));
  protocol::LostRecords answer;
  const std::lock_guard lock(mutex_);
  answer.version = recorder_.values_lost();
  if (answer.version == 0) return answer;
  if (answer.version != version_) start_anew(answer.version);
  catch_up(cancel);
  std::vector<Seen> seen;
  for (const std::uint64_t number : request.records) {
    if (number == 0 || number > Trace::newest_possible) continue;
    check_cancelled(cancel);
    const auto one = static_cast<std::uint32_t>(number);
    seen.clear();
    recorder_.trace().glance(one, one, [&](const RecordGlance& glance) { seen.emplace_back(glance); });
    if (seen.empty() || seen[0].number != one) continue;
    const auto all = [](const TensorIds& ids) { return std::span(ids.data(), ids.size()); };
    if (any_gone(all(seen[0].inputs)) || any_gone(all(seen[0].outputs))) answer.records.push_back(number);
  }
  return answer;
}

void LostValues::catch_up(const CancelFlag* cancel) {
  const Trace& trace = recorder_.trace();
  // An op that runs yet stops it: what comes of that is passed the next time.
  const std::uint32_t newest = trace.newest();
  std::vector<Seen> seen;
  while (next_ <= newest) {
    check_cancelled(cancel);
    seen.clear();
    const std::uint32_t last = std::min(newest, next_ + records_at_once - 1);
    const std::uint32_t after =
        trace.glance(next_, last, [&](const RecordGlance& glance) { seen.emplace_back(glance); });
    if (after <= next_) return;
    for (const Seen& record : seen) pass(record);
    next_ = after;
  }
}

void LostValues::pass(const Seen& record) {
  if (!record.is_op) return;
  const bool lost = std::ranges::any_of(record.inputs, [this](std::uint64_t id) { return is_lost(id); });
  if (!lost) return;  // what is not known to be lost is looked up where it is used
  for (const std::uint64_t id : record.outputs) {
    if (id == 0 || known_.contains(id)) continue;
    known_.insert(id);
    const bool made_here = recorder_.trace().tensors().get(id).producer() == record.number;
    if (made_here ? !is_held(id) : find_out(id)) lost_.insert(id);
  }
}

bool LostValues::is_held(std::uint64_t id) const {
  if (held_.contains(id)) return true;
  const TensorOrigin origin = recorder_.trace().tensors().get(id);
  return origin.is_small_leaf() || origin.stored() ||
         (id > newest_ && origin.is_leaf() && recorder_.values().held(id));
}

bool LostValues::is_lost(std::uint64_t id) {
  if (id == 0) return false;
  if (known_.contains(id)) return lost_.contains(id);
  const bool lost = find_out(id);
  known_.insert(id);
  if (lost) lost_.insert(id);
  return lost;
}

// Of what a record that was passed made, it is known where it is lost.
bool LostValues::find_out(std::uint64_t id) {
  if (is_held(id)) return false;
  const TensorOrigin origin = recorder_.trace().tensors().get(id);
  if (!origin.known()) return true;
  if (!origin.is_leaf()) return origin.producer() < recorder_.trace().oldest_kept();
  const auto assignment = recorder_.handoffs().assignment_of(id);
  if (!assignment || assignment->value == 0 || assignment->value >= id) return true;
  const TensorOrigin made_of = recorder_.trace().tensors().get(assignment->value);
  if (made_of.producer() == 0) return true;
  const RecordedSpec spec = spec_of(origin.spec()), before = spec_of(made_of.spec());
  if (spec.dtype != before.dtype || spec.shape != before.shape) return true;  // it was converted
  return is_lost(assignment->value);
}

/// What is lost may be held yet, as the latest results are.
bool LostValues::any_gone(std::span<const std::uint64_t> ids) {
  return std::ranges::any_of(
      ids, [this](std::uint64_t id) { return is_lost(id) && !recorder_.values().held(id); });
}

}  // namespace tapedeck::debug
