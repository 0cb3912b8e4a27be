#include "engine/debug/lost_values.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/debug/tile.h"
#include "engine/record/trace/tensor_specs.h"

namespace tapedeck::debug {
namespace {

constexpr std::size_t most_asked = 4096;
constexpr std::uint32_t records_in_sweep = 2048;
constexpr std::uint64_t most_newer = 1 << 16;
// Of looking for what is there yet.
constexpr int most_depth = 500;
constexpr std::size_t most_visits = 20'000;

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

/// A copy: questions about its tensors may block, and the trace must stay free to forget records meanwhile.
struct LostValues::Seen {
  std::uint32_t number = 0;
  bool is_op = false, runs = false;
  TensorIds inputs, outputs;
  explicit Seen(const RecordGlance& glance)
      : number(glance.number),
        is_op(glance.head.kind == EventKind::op && glance.state == RecordState::done),
        runs(glance.head.kind == EventKind::op &&
             (glance.state == RecordState::running || glance.state == RecordState::pending)),
        inputs(glance.inputs.begin(), glance.inputs.end()),
        outputs(glance.outputs.begin(), glance.outputs.end()) {}
};

void LostValues::start_anew(std::uint64_t version) {
  held_.clear();
  known_.clear();
  lost_.clear();
  late_.clear();
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
  // What is held of newer ones is not known.
  const bool is_old = detail::newest_tensor_id() - newest_ > most_newer;
  if (answer.version != version_ || is_old) start_anew(answer.version);
  catch_up(cancel);
  gone_.clear();
  std::vector<Seen> seen;
  for (const std::uint64_t number : request.records) {
    if (number == 0 || number > Trace::newest_possible) continue;
    check_cancelled(cancel);
    const auto one = static_cast<std::uint32_t>(number);
    seen.clear();
    recorder_.trace().glance(one, one, [&](const RecordGlance& glance) { seen.emplace_back(glance); });
    if (seen.empty() || seen[0].number != one) continue;
    const auto any_gone = [this](const TensorIds& ids) {
      return std::ranges::any_of(ids, [this](std::uint64_t id) { return is_gone(id, 0); });
    };
    if (any_gone(seen[0].inputs) || any_gone(seen[0].outputs)) answer.records.push_back(number);
  }
  return answer;
}

void LostValues::catch_up(const CancelFlag* cancel) {
  const Trace& trace = recorder_.trace();
  // First: what takes a result of an op that ran until now is newer.
  const std::uint32_t newest = trace.newest();
  std::vector<Seen> seen;
  for (const std::uint32_t number : std::exchange(late_, {}))
    trace.glance(number, number, [&](const RecordGlance& glance) { seen.emplace_back(glance); });
  for (const Seen& record : seen) pass(record);
  while (next_ <= newest) {
    check_cancelled(cancel);
    seen.clear();
    const std::uint32_t last = std::min(newest, next_ + records_in_sweep - 1);
    const std::uint32_t after =
        trace.glance(next_, last, [&](const RecordGlance& glance) { seen.emplace_back(glance); });
    if (after <= next_) return;
    for (const Seen& record : seen) pass(record);
    next_ = after;
  }
}

void LostValues::pass(const Seen& record) {
  if (record.runs) late_.push_back(record.number);
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
         (id > newest_ && origin.is_leaf() && !origin.is_version() && recorder_.values().held(id));
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
  const std::uint64_t made_of = source_of(id);
  return made_of == 0 || is_lost(made_of);
}

/// The op's result that a variable was given, where the value is that; else 0.
std::uint64_t LostValues::source_of(std::uint64_t id) const {
  const TensorTable& table = recorder_.trace().tensors();
  const TensorOrigin origin = table.get(id);
  const auto assignment = origin.is_leaf() ? recorder_.data_flow().assignment_of(id) : std::nullopt;
  if (!assignment || assignment->value == 0 || assignment->value >= id) return 0;
  const TensorOrigin made_of = table.get(assignment->value);
  if (made_of.producer() == 0) return 0;
  const RecordedSpec spec = spec_of(origin.spec()), before = spec_of(made_of.spec());
  const bool converted = spec.dtype != before.dtype || spec.shape != before.shape;
  return converted ? 0 : assignment->value;
}

// What is lost is there for a while, as the latest results are, and so is what comes of those.
bool LostValues::is_gone(std::uint64_t id, int depth) {
  if (!is_lost(id)) return false;
  if (const auto found = gone_.find(id); found != gone_.end()) return found->second;
  const bool gone = !recorder_.values().held(id) &&
                    (depth == most_depth || gone_.size() >= most_visits || is_made_gone(id, depth + 1));
  return gone_[id] = gone;
}

/// Whether nothing is there of which it could be made.
bool LostValues::is_made_gone(std::uint64_t id, int depth) {
  const std::uint32_t producer = recorder_.trace().tensors().get(id).producer();
  std::vector<Seen> seen;
  if (producer != 0)
    recorder_.trace().glance(producer, producer,
                             [&](const RecordGlance& glance) { seen.emplace_back(glance); });
  if (!seen.empty() && seen[0].number == producer && seen[0].is_op)
    return std::ranges::any_of(seen[0].inputs, [&](std::uint64_t input) { return is_gone(input, depth); });
  const std::uint64_t made_of = source_of(id);
  return made_of == 0 || is_gone(made_of, depth);
}

}  // namespace tapedeck::debug
