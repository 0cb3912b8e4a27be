#include "engine/debug/compare/first_difference.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "engine/debug/compare/difference_text.h"
#include "engine/debug/compare/operands.h"
#include "engine/debug/compare/origins.h"
#include "engine/debug/describe.h"
#include "engine/debug/why/elements.h"
#include "engine/record/replay/replay.h"
#include "engine/record/trace/tensor_specs.h"

namespace tapedeck::debug {
namespace {

using protocol::Agreement;
using protocol::DifferenceKind;
using protocol::FirstDifference;
using protocol::RowKind;

/// How far from a place its other probes lie: within a step of training, and in the next ones.
constexpr std::size_t probe_distances[] = {0, 1, 3, 7, 15, 31, 63, 127};
constexpr std::size_t samples = 32, probes_of_sample = 3;
constexpr std::size_t steps_of_walk = 64, most_steps = 4096, most_rounds = 12;
/// Of rows with other attributes or shapes so many are looked at: the first of them tell most.
constexpr std::size_t telling_rows = 8;
/// Of the values that come in, so many are compared; most are small, and kept as they are.
constexpr std::size_t most_incoming = 4096;

class DifferenceSearch {
 public:
  DifferenceSearch(const Comparison& comparison, const ComparedValues& values,
                   const protocol::FindFirstDifference& request, const CancelFlag* cancel,
                   const Jobs::Report& report)
      : pairs_(comparison, values, request, cancel),
        comparison_(comparison),
        values_(values),
        request_(request),
        report_(report),
        text_(comparison, request.labels) {
    answer_.comparison = request.comparison;
  }

  FirstDifference run() {
    choose_candidates();
    answer_.rows = candidates_.size();
    if (std::size_t at = late_difference(); at < candidates_.size()) follow(at);
    look_at_incoming();
    if (answer_.kind == DifferenceKind::none) return nothing();
    finish();
    return std::move(answer_);
  }

 private:
  const Comparison::Row& row(std::size_t number) const { return comparison_.rows()[number]; }

  /// To what the difference of a candidate comes from.
  void follow(std::size_t at) {
    for (std::size_t round = 0;; ++round) {
      at = bisect(at);
      const auto earlier = walk(candidates_[at], round < most_rounds ? steps_of_walk : most_steps);
      if (!earlier) return;
      at = static_cast<std::size_t>(std::ranges::lower_bound(candidates_, *earlier) - candidates_.begin());
    }
  }

  /// A difference begins where a row does something else, or takes what no row before it made; all others
  /// come of one that began. So the first of these that differs is the first of all. Bisecting alone can miss
  /// it, where what came of it agrees: a loss that differs, and then the gradient's seed.
  void look_at_incoming() {
    for (const std::uint32_t number : candidates_) {
      if (answer_.row && number >= *answer_.row) break;
      pairs_.check_cancelled();
      RecordView left, right;
      if (!read(number, left, right)) continue;
      const std::vector<bool> overwritten = unread(left, right);
      for (std::size_t i = 0; i < std::min(left.inputs.size(), right.inputs.size()); ++i) {
        if (overwritten[i]) continue;
        const IdPair pair{left.inputs[i], right.inputs[i]}, records = origins(comparison_, pair);
        if (pair == IdPair() || common_row(comparison_, records)) continue;
        if (incoming_ == most_incoming) return void(more_incoming_ = true);
        bool looked = false;
        const Agreement one = agreement(pair, looked);
        if (looked) {
          ++incoming_;
          tell();
        }
        if (one != Agreement::differ) continue;
        answer_.row = number;
        return note_incoming(pair, records);
      }
      if (row(number).kind != RowKind::same && results(number) == Agreement::differ)
        return stop_at(number, DifferenceKind::op);
    }
  }

  void choose_candidates() {
    const auto& rows = comparison_.rows();
    RecordView record;
    for (std::uint32_t i = 0; i < rows.size(); ++i) {
      if (!rows[i].computes) continue;
      if ((i & 0xfff) == 0) pairs_.check_cancelled();
      if (values_.may_differ) {  // in a branch: what depends on its changes
        if (!comparison_.left().recorder->trace().read(rows[i].left, record)) continue;
        if (std::ranges::none_of(record.outputs,
                                 [&](std::uint64_t id) { return id && values_.may_differ(id); }))
          continue;
      }
      candidates_.push_back(i);
    }
  }

  std::uint32_t spec(const Side& side, std::uint64_t id) const {
    return side.recorder->trace().tensors().get(id).spec();
  }

  /// Of the values of two tensors; `looked` is set where they had to be looked at.
  Agreement agreement(const IdPair& pair, bool& looked) {
    if (pair.left == 0 || pair.right == 0)
      return pair.left == pair.right ? Agreement::agree : Agreement::differ;
    const Side &left = comparison_.left(), &right = comparison_.right();
    if (pair.left == pair.right && left.same_values(right)) return Agreement::agree;
    if (pair.left == pair.right && values_.may_differ && !values_.may_differ(pair.left))
      return Agreement::agree;
    const Contents contents = comparison_.contents(pair.left, pair.right);
    if (contents == Contents::never) return Agreement::agree;  // there is no value that could differ
    const auto [known, fresh] = known_.try_emplace(pair, Agreement::unknown);
    if (!fresh) return known->second;
    const std::uint32_t l = spec(left, pair.left), r = spec(right, pair.right);
    if (l && r && l != r && spec_of(l).shape != spec_of(r).shape) return known->second = Agreement::differ;
    looked = true;
    try {
      const bool differs = pairs_.compare(values_.left(pair.left), values_.right(pair.right)).differs();
      // Of memory that is written in part the rest may be what differs.
      return known->second = differs && contents == Contents::written ? Agreement::differ : Agreement::agree;
    } catch (const ValueError&) {
      ++gone_;
      return Agreement::unknown;
    }
  }

  /// Of a row's results.
  Agreement results(std::size_t number) {
    pairs_.check_cancelled();
    RecordView left, right;
    if (!read(number, left, right)) return Agreement::unknown;
    Agreement all = left.outputs.size() == right.outputs.size() ? Agreement::agree : Agreement::differ;
    bool looked = false;
    for (std::size_t i = 0; i < std::min(left.outputs.size(), right.outputs.size()); ++i) {
      const Agreement one = agreement({left.outputs[i], right.outputs[i]}, looked);
      if (one == Agreement::differ) all = one;
      if (one == Agreement::unknown && all == Agreement::agree) all = one;
      if (all == Agreement::differ) break;
    }
    if (looked) {
      ++answer_.looked_at;
      tell();
    }
    const bool written = std::ranges::all_of(left.outputs, [&](std::uint64_t id) {
      return comparison_.unwritten(false).contents(id) == Contents::written;
    });
    comparison_.note(number, written ? all : Agreement::unknown);
    return all;
  }

  /// Whether the row's ops read nothing of that input.
  static std::vector<bool> unread(const RecordView& left, const RecordView& right) {
    std::vector<bool> both = overwritten_inputs(left.head, left.inputs.size());
    const std::vector<bool> other = overwritten_inputs(right.head, right.inputs.size());
    for (std::size_t i = 0; i < both.size(); ++i) both[i] = both[i] && i < other.size() && other[i];
    return both;
  }

  bool read(std::size_t number, RecordView& left, RecordView& right) const {
    return comparison_.left().recorder->trace().read(row(number).left, left) &&
           comparison_.right().recorder->trace().read(row(number).right, right);
  }

  bool differs(std::size_t candidate) { return results(candidates_[candidate]) == Agreement::differ; }

  void tell() {
    const auto now = std::chrono::steady_clock::now();
    if (!report_ || now < next_report_) return;
    next_report_ = now + std::chrono::milliseconds(100);
    report_(protocol::Progress{answer_.looked_at, 0});
  }

  /// One that differs, the earlier the better but without much looking; candidates_.size(): none was found.
  std::size_t late_difference() {
    const std::size_t count = candidates_.size();
    std::size_t found = count, told = 0;
    for (std::size_t i = 0; i < count && found == count && told < telling_rows; ++i) {
      if (row(candidates_[i]).kind == RowKind::same) continue;
      ++told;
      if (differs(i)) found = i;
    }
    for (const std::size_t distance : probe_distances)
      if (found == count && distance < count && differs(count - 1 - distance)) found = count - 1 - distance;
    for (std::size_t sample = 0; sample < samples && found == count; ++sample)
      for (std::size_t probe = 0; probe < probes_of_sample && found == count; ++probe) {
        const std::size_t at = sample * count / samples + probe_distances[probe + 1] - 1;
        if (at < count && differs(at)) found = at;
      }
    return found;
  }

  /// `high` differs. The first place that could be found from which on things differ.
  std::size_t bisect(std::size_t high) {
    std::size_t low = 0;  // those before it agree
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      std::size_t found = high;
      for (const std::size_t distance : probe_distances)
        if (middle + distance < high && differs(middle + distance)) {
          found = middle + distance;
          break;
        }
      if (found < high)
        high = found;
      else
        low = middle + 1;
    }
    return high;
  }

  /// Back along the data from a row whose results differ. A row: so far it came, and there is more.
  std::optional<std::size_t> walk(std::size_t from, std::size_t most) {
    std::size_t at = from;
    for (std::size_t step = 0;; ++step) {
      RecordView left, right;
      if (!read(at, left, right)) return stop_at(at, DifferenceKind::passed), std::nullopt;
      answer_.row = at;
      bool unknown = false;
      const auto input = input_that_differs(left, right, unknown);
      if (!input) {
        stop_at(at, unknown ? DifferenceKind::passed : DifferenceKind::op);
        return std::nullopt;
      }
      const auto made = maker(*input);
      if (!made) return std::nullopt;  // a leaf, or other ops: noted
      if (step >= most) {
        if (most < most_steps) return made;
        return stop_at(*made, DifferenceKind::passed), std::nullopt;
      }
      at = *made;
    }
  }

  /// Of several the one that was made first.
  std::optional<IdPair> input_that_differs(const RecordView& left, const RecordView& right, bool& unknown) {
    std::optional<IdPair> first;
    bool looked = false;
    const std::size_t count = std::min(left.inputs.size(), right.inputs.size());
    const std::vector<bool> overwritten = unread(left, right);
    for (std::size_t i = 0; i < count; ++i) {
      if (overwritten[i]) continue;
      const IdPair pair{left.inputs[i], right.inputs[i]};
      const Agreement one = agreement(pair, looked);
      if (one == Agreement::unknown) unknown = true;
      if (one == Agreement::differ && (!first || pair.left < first->left)) first = pair;
    }
    if (looked) {
      ++answer_.looked_at;
      tell();
    }
    return first;
  }

  /// The row that made both; else the answer is noted.
  std::optional<std::size_t> maker(const IdPair& pair) {
    const IdPair records = origins(comparison_, pair);
    const auto row = common_row(comparison_, records);
    if (!row) note_incoming(pair, records);
    return row;
  }

  void note_incoming(const IdPair& pair, const IdPair& records) {
    const bool leaf =
        comparison_.row_of_left(records.left) < 0 && comparison_.row_of_right(records.right) < 0;
    tensors_ = pair;
    makers_ = records;
    answer_.kind = leaf ? DifferenceKind::leaf : DifferenceKind::ops;
  }

  void stop_at(std::size_t at, DifferenceKind kind) {
    answer_.row = at;
    answer_.kind = kind;
    RecordView left, right;
    tensors_ = {};
    if (!read(at, left, right)) return;
    bool looked = false;
    for (std::size_t i = 0; i < std::min(left.outputs.size(), right.outputs.size()); ++i) {
      const IdPair pair{left.outputs[i], right.outputs[i]};
      if (agreement(pair, looked) != Agreement::differ) continue;
      tensors_ = pair;
      break;
    }
  }

  FirstDifference nothing() {
    answer_.sentence = "No compared value differs" + DifferenceText::tolerance(request_) + ": " +
                       counted(answer_.looked_at, "row") + " of " + counted(answer_.rows, "row") +
                       " with values on both sides" + incoming_text() + ".";
    if (const std::string other = text_.one_sided_before(comparison_.rows().size()); !other.empty())
      answer_.sentence += " But " + other;
    if (gone_) answer_.sentence += " " + gone_text();
    answer_.complete = gone_ == 0;
    return std::move(answer_);
  }

  std::string incoming_text() const {
    if (incoming_ == 0) return {};
    const std::string count = counted(incoming_, "value");
    return more_incoming_ ? ", and the first " + count + " of those that come in"
                          : ", and " + count + " that came in" + (answer_.row ? " before" : "");
  }

  std::string gone_text() const {
    return counted(gone_, "value") + (gone_ == 1 ? " is" : " are") + " gone and could not be compared.";
  }

  std::string amount() {
    try {
      const Tensor left = values_.left(tensors_.left), right = values_.right(tensors_.right);
      return DifferenceText::amount(left, right, pairs_.compare(left, right));
    } catch (const ValueError& error) {
      return std::string("cannot be determined: ") + error.what();
    }
  }

  std::string op_sentence() {
    const Comparison::Row& at = row(answer_.row.value());
    std::string text = "The first difference is " + text_.op(at) + ": ";
    RecordView left, right;
    read(answer_.row.value(), left, right);
    const bool takes = !left.inputs.empty() || !right.inputs.empty();
    if (const std::string unwritten = text_.unwritten(at); !unwritten.empty())
      return text + unwritten + ": its result " + amount() + ".";
    const std::vector<std::string> attributes = text_.attributes(at);
    text += takes ? "its inputs agree, " : "it has no inputs, ";
    if (!attributes.empty()) {
      const bool place = std::ranges::all_of(attributes, [](const std::string& one) {
        return one.starts_with("key:") || one.starts_with("counter:");
      });
      text += takes ? "but " : "and ";
      if (place) {
        text += "it draws from another position of the random sequence (set a seed before each run), and ";
      } else {
        text += "its attributes differ (";
        for (const std::string& one : attributes)
          if (!one.starts_with("key:") && !one.starts_with("counter:"))
            text += (text.ends_with("(") ? "" : "; ") + one;
        text += "), and ";
      }
    } else if (left.inputs.size() != right.inputs.size()) {
      text += "but it takes " + counted(left.inputs.size(), "input") + " on the left and " +
              std::to_string(right.inputs.size()) + " on the right, and ";
    }
    return text + "its result " + amount() + ".";
  }

  std::string leaf_sentence() {
    const Side &left = comparison_.left(), &right = comparison_.right();
    std::string taker = text_.op(row(answer_.row.value()));
    taker.front() = 'O';
    const std::string name = text_.name(tensors_.left, tensors_.right);
    std::string text =
        "The first difference is " + (name.empty() ? "a value from Python" : "the leaf " + name);
    if (makers_.left || makers_.right) {
      text = "The first difference is " + (name.empty() ? "a value" : name) + " from before the runs";
      const bool same_op = makers_.left == makers_.right && left.recorder == right.recorder;
      if (makers_.left) text += " (" + std::string(same_op ? "" : "left: ") + made_by(left, makers_.left);
      if (makers_.right && !same_op)
        text += (makers_.left ? "; right: " : " (right: ") + made_by(right, makers_.right);
      text += ")";
    } else if (!name.empty()) {
      const std::string where = text_.set_at(left, tensors_.left);
      text += where.empty() ? text_.set_at(right, tensors_.right) : where;
    }
    if (text.ends_with(",")) text.pop_back();
    return text + ": it " + amount() + ". " + taker + ", takes it first.";
  }
  std::string made_by(const Side& side, std::uint64_t record) const {
    return text_.op(side, static_cast<std::uint32_t>(record));
  }

  std::string ops_sentence() {
    const Side &left = comparison_.left(), &right = comparison_.right();
    const auto from = [&](const Side& side, std::uint64_t record) {
      return record ? made_by(side, record) : std::string("no op (a value from Python or a variable)");
    };
    return "The first difference is an input of " + text_.op(row(answer_.row.value())) +
           ": on the left it comes from " + from(left, makers_.left) + "; on the right from " +
           from(right, makers_.right) + ". It " + amount() + ".";
  }

  void finish() {
    switch (answer_.kind) {
      case DifferenceKind::op:
        answer_.sentence = op_sentence();
        break;
      case DifferenceKind::leaf:
        answer_.sentence = leaf_sentence();
        break;
      case DifferenceKind::ops:
        answer_.sentence = ops_sentence();
        break;
      default:
        answer_.sentence = "The earliest difference that could be found is " +
                           text_.op(row(answer_.row.value())) + ": its result " + amount() +
                           ". Its origin is gone, or too far back.";
        answer_.complete = false;
    }
    answer_.sentence += " " + counted(answer_.looked_at, "row") + " of " + counted(answer_.rows, "row") +
                        (answer_.looked_at == 1 ? " was" : " were") + " looked at" + incoming_text() +
                        (request_.relative == 0 && request_.absolute == 0
                             ? "."
                             : " for what differs" + DifferenceText::tolerance(request_) + ".");
    if (more_incoming_) {
      answer_.sentence += " An earlier difference may be among the others.";
      answer_.complete = false;
    }
    if (const std::string other = text_.one_sided_before(answer_.row.value()); !other.empty())
      answer_.sentence += " Before it " + other;
    if (gone_) answer_.sentence += " " + gone_text();
    answer_.left = protocol::if_there(tensor_info(*comparison_.left().recorder, tensors_.left, true));
    answer_.right = protocol::if_there(tensor_info(*comparison_.right().recorder, tensors_.right, true));
  }

  const ValuePairs pairs_;
  const Comparison& comparison_;
  const ComparedValues& values_;
  const protocol::FindFirstDifference& request_;
  const Jobs::Report& report_;
  const DifferenceText text_;
  FirstDifference answer_;
  std::vector<std::uint32_t> candidates_;  ///< rows, rising
  std::map<IdPair, Agreement> known_;
  std::uint64_t gone_ = 0;
  std::size_t incoming_ = 0;    ///< compared values that no row made
  bool more_incoming_ = false;  ///< some were left out
  IdPair tensors_, makers_;
  std::chrono::steady_clock::time_point next_report_ = std::chrono::steady_clock::now();
};

}  // namespace

FirstDifference first_difference(const Comparison& comparison, const ComparedValues& values,
                                 const protocol::FindFirstDifference& request, const CancelFlag* cancel,
                                 const Jobs::Report& report) {
  return DifferenceSearch(comparison, values, request, cancel, report).run();
}

}  // namespace tapedeck::debug
