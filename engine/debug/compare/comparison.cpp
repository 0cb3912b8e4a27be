#include "engine/debug/compare/comparison.h"

#include <algorithm>

#include "engine/debug/hashed.h"
#include "engine/debug/why/elements.h"

namespace tapedeck::debug {
namespace {

using protocol::RowKind;

constexpr std::uint32_t no_row = UINT32_MAX;

/// Reports at most ten times a second.
class CompareTeller {
 public:
  CompareTeller(const Jobs::Report& report, std::uint64_t total) : report_(report), total_(total) {}
  void tell(std::uint64_t done) {
    const auto now = std::chrono::steady_clock::now();
    if (!report_ || now < next_) return;
    next_ = now + std::chrono::milliseconds(100);
    report_(protocol::Progress{done, total_});
  }

 private:
  const Jobs::Report& report_;
  const std::uint64_t total_;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now();
};

std::uint64_t length_of(const Side& side) {
  return side.last >= side.first ? side.last - side.first + 1 : 0;
}

Uninitialised unwritten_of(const Side& side, const CancelFlag* cancel) {
  return uninitialised_of(side.recorder->trace(), side.first, side.last, cancel);
}

RowKind row_kind(const OpKey& left, const OpKey& right) {
  // What a record does not have is not different.
  if (left.shapes == OpKey::unknown || right.shapes == OpKey::unknown) return RowKind::same;
  return left.shapes != right.shapes           ? RowKind::other_shapes
         : left.attributes != right.attributes ? RowKind::other_attributes
                                               : RowKind::same;
}

std::string port_note(const Comparison::Port& port) {
  const auto paired = static_cast<std::uint64_t>(
      std::ranges::count_if(port.pairs.right_of, [](std::size_t right) { return right != no_layer; }) - 1);
  const auto layers = [](const SideLayers& side) {
    return static_cast<std::uint64_t>(
        std::ranges::count_if(side.layers, [](const Layer& layer) { return !layer.folded; }) - 1);
  };
  const std::uint64_t lefts = layers(port.left), rights = layers(port.right);
  const bool frameworks = !port.left.tensors && !port.right.tensors && port.across_frameworks();
  return std::string(" They are paired ") + (frameworks ? "across frameworks, " : "") +
         "by layer and kind: " + counted(paired, "layer") + " " + (paired == 1 ? "is" : "are") +
         " on both sides, " + std::to_string(lefts - paired) + " on the left only, " +
         std::to_string(rights - paired) + " on the right only.";
}

/// What ops on one side alone may come from where one side ran graph functions and the other did not.
std::string graph_note(bool on_the_right) {
  const char *graph = on_the_right ? "right" : "left", *eager = on_the_right ? "left" : "right";
  return std::string(" The ") + graph +
         " ran graph functions: ops that their graphs folded, merged or removed are on the " + eager +
         " only, and what decides their branches and loops may be on the " + graph + " only.";
}

}  // namespace

Comparison::Comparison(Side left, Side right, const CancelFlag* cancel, const Jobs::Report& report,
                       const NameMap* names)
    : left_(std::move(left)), right_(std::move(right)) {
  // Each record is read once and aligned once.
  const std::uint64_t lefts = length_of(left_), rights = length_of(right_);
  CompareTeller teller(report, 2 * (lefts + rights));
  const Sequence first = sequence_of(left_, cancel, [&](std::uint64_t done) { teller.tell(done); });
  if (left_.same_records(right_) && !names) {  // a branch and its original
    pair_with_itself(first);
    if (first.foreign_ops) right_unwritten_ = left_unwritten_ = unwritten_of(left_, cancel);
    left_calls_ = right_calls_ = first.calls;
  } else {
    const Sequence second =
        sequence_of(right_, cancel, [&](std::uint64_t done) { teller.tell(lefts + done); });
    if (first.foreign_ops) left_unwritten_ = unwritten_of(left_, cancel);
    if (second.foreign_ops) right_unwritten_ = unwritten_of(right_, cancel);
    const bool both = first.foreign_ops + first.own_ops > 0 && second.foreign_ops + second.own_ops > 0;
    if (names || (both && (first.foreign() != second.foreign() || first.tensors || second.tensors)))
      pair_port(names ? *names : NameMap(), cancel);
    else
      pair(first, second, align(first.keys, second.keys, cancel, [&](std::uint64_t done) {
             teller.tell(lefts + rights + done);
           }));
    left_calls_ = first.calls;
    right_calls_ = second.calls;
  }
  index();
}

void Comparison::pair(const Sequence& left, const Sequence& right, const std::vector<Alignment>& alignment) {
  rows_.reserve(alignment.size());
  for (const Alignment& one : alignment) {
    if (one.right == no_op)
      rows_.push_back({left.records[one.left], 0, RowKind::only_left, false});
    else if (one.left == no_op)
      rows_.push_back({0, right.records[one.right], RowKind::only_right, false});
    else
      rows_.push_back({left.records[one.left], right.records[one.right],
                       row_kind(left.keys[one.left], right.keys[one.right]),
                       left.computes[one.left] && right.computes[one.right]});
  }
}

void Comparison::pair_port(const NameMap& names, const CancelFlag* cancel) {
  Port port{layers_of(left_, left_unwritten_, cancel), layers_of(right_, right_unwritten_, cancel), {}};
  port.pairs = pair_layers(port.left, port.right, names);
  const auto places = [&](const SideLayers& side, bool right) -> PortPlace {
    return [&side, &port, right](const RecordGlance& record) {
      const std::size_t layer = side.layer_of(record.head.scope);
      // Of a layer that the other side has, the right side's number; of another one nothing is alike.
      const std::size_t shared =
          right ? (port.pairs.left_of[layer] == no_layer ? no_layer : layer) : port.pairs.right_of[layer];
      std::uint64_t place = shared != no_layer ? hashed(1, shared) : hashed(right ? 2 : 3, layer);
      place = hashed(place, static_cast<std::uint64_t>(record.head.kind) * 2 + record.head.backward);
      const std::string kind =
          record.head.op ? kind_of_op(*record.head.op, record.inputs.size()) : name_of(record.head.name());
      return hashed(place, std::hash<std::string>()(kind));
    };
  };
  const Sequence first = sequence_of(left_, cancel, {}, places(port.left, false));
  const Sequence second = sequence_of(right_, cancel, {}, places(port.right, true));
  pair(first, second, align(first.keys, second.keys, cancel));
  port_ = std::move(port);
}

bool Comparison::Port::other_orders(std::uint64_t left_tensor, std::uint64_t right_tensor) const {
  // Of a program that trains nothing it is not known which values are weights.
  if (!left.weights.contains(left_tensor) && !right.weights.contains(right_tensor)) return false;
  const WeightOrder l = left.order_of(left_tensor), r = right.order_of(right_tensor);
  return l != WeightOrder::unknown && r != WeightOrder::unknown && l != r;
}

std::size_t Comparison::layer_of(const Row& row) const {
  return port_->left.layer_of(left_.recorder->trace().scope_of(row.left));
}

void Comparison::pair_with_itself(const Sequence& both) {
  rows_.reserve(both.records.size());
  for (std::size_t i = 0; i < both.records.size(); ++i)
    rows_.push_back({both.records[i], both.records[i], RowKind::same, both.computes[i]});
}

void Comparison::index() {
  left_rows_.assign(length_of(left_), no_row);
  right_rows_.assign(length_of(right_), no_row);
  for (std::uint32_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    ++counts_[static_cast<std::size_t>(row.kind)];
    if (row.left) left_rows_[row.left - left_.first] = i;
    if (row.right) right_rows_[row.right - right_.first] = i;
  }
}

std::int64_t Comparison::row_of(const Side& side, const Rows& rows, std::uint64_t record) {
  if (record < side.first || record - side.first >= rows.size()) return -1;
  const std::uint32_t row = rows[record - side.first];
  return row == no_row ? -1 : std::int64_t{row};
}

std::int64_t Comparison::next_difference(std::int64_t from, bool backward) const {
  const auto count = static_cast<std::int64_t>(rows_.size());
  const auto differs = [&](std::int64_t row) {
    return rows_[static_cast<std::size_t>(row)].kind != RowKind::same;
  };
  if (backward) {
    std::int64_t at = (from < 0 || from > count ? count : from) - 1;
    while (at >= 0 && !differs(at)) --at;
    while (at > 0 && differs(at - 1)) --at;
    return at;
  }
  std::int64_t at = std::max<std::int64_t>(from, -1);
  while (at >= 0 && at < count && differs(at)) ++at;  // out of the run that it is in
  for (at = std::max<std::int64_t>(at, 0); at < count; ++at)
    if (differs(at)) return at;
  return -1;
}

std::vector<protocol::ComparisonPart> Comparison::parts(std::size_t most) const {
  std::vector<protocol::ComparisonPart> parts(std::min(most, rows_.size()));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    protocol::ComparisonPart& part = parts[i];
    const std::size_t end = (i + 1) * rows_.size() / parts.size();
    for (std::size_t row = i * rows_.size() / parts.size(); row < end; ++row) switch (rows_[row].kind) {
        case RowKind::same:
          ++part.same;
          break;
        case RowKind::only_left:
          ++part.left;
          break;
        case RowKind::only_right:
          ++part.right;
          break;
        default:
          ++part.changed;
      }
  }
  return parts;
}

std::string Comparison::sentence() const {
  if (rows_.empty()) return "No op was recorded on either side.";
  std::string text;
  const auto add = [&](RowKind kind, const char* what) {
    if (count(kind) == 0) return;
    text += (text.empty() ? "" : ", ") + counted(count(kind), "op") + " " + what;
  };
  const bool all = count(RowKind::same) == rows_.size();
  if (all) {
    text = rows_.size() == 1 ? "The one op is the same on both sides"
                             : "All " + counted(rows_.size(), "op") + " are the same on both sides";
  } else {
    add(RowKind::same, "alike");
    add(RowKind::other_attributes, "with other attributes");
    add(RowKind::other_shapes, "with other shapes or dtypes");
    add(RowKind::only_left, "on the left only");
    add(RowKind::only_right, "on the right only");
  }
  text += ".";
  if (port_) text += port_note(*port_);
  if (!all && (left_calls_ == 0) != (right_calls_ == 0)) text += graph_note(right_calls_ != 0);
  for (const Side* side : {&left_, &right_})
    if (!side->left_out.empty()) text += " " + side->left_out;
  for (const Side* side : {&left_, &right_})
    if (side->forgotten)
      text += " " + counted(side->forgotten, "record") + " at the start of the " +
              (side == &left_ ? "left" : "right") + " side " + (side->forgotten == 1 ? "was" : "were") +
              " dropped: the recording keeps a limited number of records.";
  return text;
}

void Comparison::set_tolerance(const Tolerance& tolerance) const {
  const std::lock_guard lock(known_mutex_);
  if (tolerance == tolerance_) return;
  tolerance_ = tolerance;
  known_.clear();
}

bool Comparison::exact() const {
  const std::lock_guard lock(known_mutex_);
  return tolerance_ == Tolerance();
}

void Comparison::note(std::size_t row, protocol::Agreement results) const {
  const std::lock_guard lock(known_mutex_);
  known_[row] = results;
}

protocol::Agreement Comparison::results(std::size_t row) const {
  const std::lock_guard lock(known_mutex_);
  const auto found = known_.find(row);
  return found == known_.end() ? protocol::Agreement::unknown : found->second;
}

}  // namespace tapedeck::debug
