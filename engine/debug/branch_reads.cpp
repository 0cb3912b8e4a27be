#include "engine/debug/branch_reads.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "engine/debug/hashed.h"
#include "engine/debug/why/elements.h"
#include "engine/protocol/conditions/log_text.h"
#include "engine/record/trace/source_location.h"
#include "engine/record/trace/tensor_specs.h"

namespace tapedeck::debug {
namespace {

using protocol::ReadLink;
using protocol::ReadUse;

constexpr std::size_t most_places_named = 3, most_uses_told = 200, most_decisions = 2000;
/// Of arrays whose elements are looked at: of one, and of all together.
constexpr std::int64_t most_elements = std::int64_t{1} << 20, most_elements_of_all = std::int64_t{1} << 27;

/// The same for equal numbers, and for all that are none.
std::uint64_t read_number_key(double number) {
  if (std::isnan(number)) return UINT64_MAX;
  return std::bit_cast<std::uint64_t>(number == 0 ? 0.0 : number);
}

bool is_one_number(const RecordedSpec& spec) {
  return element_count(spec.shape) == 1 && spec.dtype != DType::string && !is_complex(spec.dtype);
}

std::string shape_words(const Shape& shape) {
  return element_count(shape) == 1 ? "one element" : "array " + to_string(shape);
}

/// The number of an attribute that Python may have calculated; nothing: it is none, or several.
std::optional<double> attribute_number(const Attribute& attribute) {
  if (const auto* real = std::get_if<double>(&attribute)) return *real;
  if (const auto* whole = std::get_if<std::int64_t>(&attribute)) return static_cast<double>(*whole);
  return std::nullopt;
}

bool is_calculable(const Attribute& attribute) {
  return attribute_number(attribute) || std::holds_alternative<std::vector<std::int64_t>>(attribute);
}

/// What an op takes, and how that hangs together with what Python read.
struct Taken {
  ReadLink link = ReadLink::possible;
  std::string subject, value;
};

/// Keys of what came up, each with when it did first, and of what Python read, with when it was read.
class ReadValues {
 public:
  /// `newest`: of the newest tensor when Python read it first.
  void add(std::uint64_t key, std::uint64_t newest) { read_.try_emplace(key, newest); }
  void met(std::uint64_t key, std::uint64_t when) { met_.try_emplace(key, when); }
  /// It came up, as what a change names: that it was read there as well is no reason against.
  void met_changed(std::uint64_t key, std::uint64_t when) { met_changed_.try_emplace(key, when); }
  /// A constant that came up at `when` is what Python read, and had not come up before that.
  bool is_read(std::uint64_t key, std::uint64_t when) const {
    const auto found = read_.find(key);
    return found != read_.end() && when > found->second && first_in(met_, key, when) > found->second;
  }
  /// It came up behind that moment for the first time.
  bool is_new(std::uint64_t key, std::uint64_t when, std::uint64_t behind) const {
    return when > behind && first_in(met_, key, when) > behind && first_in(met_changed_, key, when) > behind;
  }

 private:
  using Moments = std::unordered_map<std::uint64_t, std::uint64_t>;
  static std::uint64_t first_in(const Moments& met, std::uint64_t key, std::uint64_t when) {
    const auto found = met.find(key);
    return found == met.end() ? when : std::min(when, found->second);
  }
  Moments read_, met_, met_changed_;
};

/// Ops by place, op, subject and how they hang together with what was read.
class UsesByPlace {
 public:
  void add(const RecordView& record, const Taken& taken) {
    const auto key = std::tuple(taken.link, record.head.location, record.name(), taken.subject);
    const auto [found, fresh] = places_.try_emplace(key, uses_.size());
    if (fresh) {
      const SourceLocation location = location_of(record.head.location);
      ReadUse use;
      use.link = taken.link;
      use.record = record.number;
      use.op = record.name();
      use.cell = location.cell;
      use.file = location.file;
      use.line = location.line;
      use.subject = taken.subject;
      use.first = use.last = taken.value;
      uses_.push_back(std::move(use));
    }
    ReadUse& use = uses_[found->second];
    ++use.ops;
    use.last = taken.value;
    std::uint32_t& newest = newest_[static_cast<std::size_t>(taken.link)];
    if (std::exchange(newest, record.number) != record.number) ++ops_[static_cast<std::size_t>(taken.link)];
  }
  std::uint64_t ops(ReadLink link) const { return ops_[static_cast<std::size_t>(link)]; }
  /// "learning_rate of momentum (op 12, line 7), … and others in 4 more places"
  std::string named(ReadLink link) const {
    std::string text;
    std::size_t count = 0;
    for (const ReadUse& use : uses_) {
      if (use.link != link || ++count > most_places_named) continue;
      text += (count == 1 ? "" : ", ") + (use.subject.empty() ? "" : use.subject + " of ") + use.op +
              " (op " + protocol::count_text(use.record) +
              (use.line ? ", line " + std::to_string(use.line) : "") + ")";
    }
    return count > most_places_named
               ? text + " and others in " + counted(count - most_places_named, "more place")
               : text;
  }
  std::vector<ReadUse> take() {
    std::ranges::stable_sort(uses_, {}, &ReadUse::link);
    if (uses_.size() > most_uses_told) uses_.resize(most_uses_told);
    return std::move(uses_);
  }

 private:
  std::vector<ReadUse> uses_;
  std::map<std::tuple<ReadLink, std::uint32_t, std::string, std::string>, std::size_t> places_;
  std::uint64_t ops_[3] = {};
  std::uint32_t newest_[3] = {};
};

class ReadSearch {
 public:
  ReadSearch(const Recorder& recorder, Branch& branch, const std::vector<BranchRead>& reads,
             const Branch::Find& original, const CancelFlag& cancel)
      : recorder_(recorder), branch_(branch), original_(original), cancel_(cancel) {
    for (const BranchRead& read : reads)
      if (read.depends) moved_.push_back(&read);
  }

  BranchReads run() {
    if (moved_.empty()) return {};
    behind_ = (*std::ranges::min_element(moved_, {}, &BranchRead::newest))->newest;
    for (const BranchRead* read : moved_)
      if (const auto key = key_of_read(*read)) values_.add(*key, read->newest);
    const std::uint32_t newest = recorder_.trace().newest();
    RecordView record;
    for (std::uint32_t number = recorder_.trace().oldest_kept(); number <= newest; ++number) {
      check_cancelled(&cancel_);
      if (!recorder_.trace().read(number, record) || record.head.kind != EventKind::op) continue;
      if (!is_pythons(record.head)) continue;
      look_at_inputs(record);
      look_at_attributes(record);
    }
    look_at_decisions();
    return answer();
  }

 private:
  /// Constants and attributes inside a VJP are the engine's, but in one that the program wrote.
  bool is_pythons(const RecordHead& head) {
    if (!head.backward) return true;
    const auto [found, fresh] = pythons_.try_emplace(head.parent, false);
    RecordView parent;
    if (fresh && head.parent && recorder_.trace().read(head.parent, parent))
      found->second = parent.head.custom_gradient;
    return found->second;
  }

  std::optional<std::uint64_t> key_of_read(const BranchRead& read) {
    if (read.single) return read_number_key(read.number);
    const TensorOrigin origin = recorder_.trace().tensors().get(read.tensor);
    return array_key(read.tensor, spec_of(origin.spec()));
  }

  /// Of an array's elements; nothing: it has none, or they were not looked at.
  std::optional<std::uint64_t> array_key(std::uint64_t tensor, const RecordedSpec& spec) {
    const std::int64_t count = element_count(spec.shape);
    if (count < 1 || count > most_elements || spec.dtype == DType::string || is_complex(spec.dtype) ||
        looked_at_ + count > most_elements_of_all)
      return std::nullopt;
    looked_at_ += count;
    try {
      // NumPy's arrays of another dtype or shape with these numbers are the same numbers.
      std::uint64_t key = hashed(0, static_cast<std::uint64_t>(count));
      for (const double number : original_(tensor).to_vector()) key = hashed(key, read_number_key(number));
      return key;
    } catch (const ValueError&) {  // its value is gone
      return std::nullopt;
    }
  }

  struct Constant {
    std::optional<std::uint64_t> key;
    std::string text;
  };

  const Constant& constant(std::uint64_t id, const RecordedSpec& spec) {
    const auto [found, fresh] = constants_.try_emplace(id);
    if (!fresh) return found->second;
    Constant& constant = found->second;
    constant.text = shape_words(spec.shape);
    if (!is_one_number(spec)) {
      constant.key = array_key(id, spec);
      return constant;
    }
    try {
      const double number = original_(id).on_host().item();
      constant.key = read_number_key(number);
      constant.text = short_number(number);
    } catch (const ValueError&) {  // its value is gone
    }
    return constant;
  }

  /// The value that Python gave, which an input is: a constant, or what a variable was given.
  std::optional<std::uint64_t> given(std::uint64_t id) const {
    if (!id) return std::nullopt;
    TensorOrigin origin = recorder_.trace().tensors().get(id);
    if (!origin.is_leaf()) return std::nullopt;
    const auto assigned = recorder_.data_flow().assignment_of(id);
    // A number that came from no op and went into a variable alone may not be known itself.
    if (assigned && assigned->value && recorder_.trace().tensors().get(assigned->value).known()) {
      id = assigned->value;
      origin = recorder_.trace().tensors().get(id);
    }
    // A result that was forgotten counts as a leaf; a variable's value without an assignment was one.
    if (!origin.is_leaf() || origin.lost() || (origin.named() && !assigned)) return std::nullopt;
    return id;
  }

  void look_at_inputs(const RecordView& record) {
    for (std::size_t slot = 0; slot < record.inputs.size(); ++slot) {
      const auto id = given(record.inputs[slot]);
      if (!id) continue;
      const RecordedSpec spec = spec_of(recorder_.trace().tensors().get(*id).spec());
      if (element_count(spec.shape) == 0) continue;
      const Constant& constant = this->constant(*id, spec);
      const bool changed = branch_.depends(*id, &cancel_);
      if (constant.key) changed ? values_.met_changed(*constant.key, *id) : values_.met(*constant.key, *id);
      if (changed || *id <= behind_) continue;
      if (constant.key && values_.is_read(*constant.key, *id))
        uses_.add(record, {ReadLink::same, input_name(record, slot), constant.text});
      else if (!constant.key || values_.is_new(*constant.key, *id, behind_))
        uses_.add(record, {ReadLink::possible, input_name(record, slot), constant.text});
    }
  }

  /// An attribute came up with its op: when the tensors before the op's results were the newest.
  void look_at_attributes(const RecordView& record) {
    const auto first = std::ranges::find_if(record.outputs, [](std::uint64_t id) { return id != 0; });
    if (!record.head.op || first == record.outputs.end()) return;
    const OpDef& op = *record.head.op;
    const auto key_place = op.find_place("key"), counter_place = op.find_place("counter");
    // Behind those that are declared come facts of PyTorch's call.
    const std::size_t declared = std::min(record.head.attributes.size(), record.head.op->attributes.size());
    for (std::size_t at = 0; at < declared; ++at) {
      const Attribute& attribute = record.head.attributes[at];
      // A random op's place in its sequence is the engine's.
      if (!is_calculable(attribute) || at == key_place || at == counter_place) continue;
      const std::uint64_t own = attribute_hash(attribute);
      attributes_.met(own, *first);
      if (*first <= behind_) continue;
      const auto number = attribute_number(attribute);
      const std::string text = number ? short_number(*number) : to_string(attribute);
      if (!attributes_.is_new(own, *first, behind_)) continue;
      // Small whole numbers agree by chance: an axis, an extent.
      const bool same =
          std::holds_alternative<double>(attribute) && values_.is_read(read_number_key(*number), *first);
      uses_.add(record, {same ? ReadLink::same : ReadLink::possible, op.attributes[at].name, text});
    }
  }

  static std::string input_name(const RecordView& record, std::size_t slot) {
    if (!record.head.op || slot >= record.head.op->inputs.size() || record.head.op->inputs[slot].variadic)
      return "in" + std::to_string(slot);
    return record.head.op->inputs[slot].name;
  }

  void look_at_decisions() {
    RecordView record;
    for (const BranchRead* read : moved_) {
      const TensorOrigin origin = recorder_.trace().tensors().get(read->tensor);
      if (!read->single || spec_of(origin.spec()).dtype != DType::bool_) continue;
      if (++decisions_ > most_decisions) continue;
      check_cancelled(&cancel_);
      try {
        const bool now = branch_.value(read->tensor, original_, &cancel_).on_host().item() != 0;
        if (now == (read->number != 0)) continue;
        if (origin.producer() && recorder_.trace().read(origin.producer(), record))
          uses_.add(record, {ReadLink::decision, "", now ? "False → True" : "True → False"});
        ++turned_;
      } catch (const ValueError&) {
        ++undecided_;
      }
    }
  }

  BranchReads answer() {
    BranchReads made;
    if (const std::uint64_t count = uses_.ops(ReadLink::same))
      made.notes.push_back(counted(count, "op") + (count == 1 ? " uses" : " use") +
                           " numbers that Python read from changed values; " +
                           (count == 1 ? "it stays" : "they stay") +
                           " as recorded: " + uses_.named(ReadLink::same) + ".");
    if (const std::uint64_t count = uses_.ops(ReadLink::possible))
      made.notes.push_back(counted(count, "op") + (count == 1 ? " uses" : " use") +
                           " what came up only after Python had read a changed value. Whether Python "
                           "calculated it from that is not known; it stays as recorded: " +
                           uses_.named(ReadLink::possible) + ".");
    if (decisions_ > 0) made.notes.push_back(decisions_text());
    std::unordered_set<std::uint64_t> tensors;
    for (const BranchRead* read : moved_) tensors.insert(read->tensor);
    const std::uint32_t line = location_of(moved_.front()->location).line;
    made.notes.push_back(
        "Python is not run again: it read " + counted(tensors.size(), "changed value") +
        (line ? (tensors.size() == 1 ? ", in line " : ", the first in line ") + std::to_string(line) : "") +
        ", and what it decided or calculated with " + (tensors.size() == 1 ? "it" : "them") +
        " stays as recorded.");
    made.uses = uses_.take();
    return made;
  }

  std::string decisions_text() const {
    std::string text = "Python read " + counted(decisions_, "truth value") + " that " +
                       (decisions_ == 1 ? "depends" : "depend") + " on the change";
    if (turned_ == 0 && undecided_ == 0 && decisions_ <= most_decisions)
      return text +
             (decisions_ == 1 ? "; in the branch it is the same." : "; in the branch all are the same.");
    text += "; in the branch " + std::to_string(turned_) + (turned_ == 1 ? " is another" : " are others");
    // The records of those that turned may have been forgotten.
    if (const std::string named = uses_.named(ReadLink::decision); !named.empty())
      text += ", and the program would have gone another way there: " + named;
    if (undecided_ > 0) text += ". Of " + std::to_string(undecided_) + " it is not known";
    if (decisions_ > most_decisions)
      text += ". Only the first " + std::to_string(most_decisions) + " were looked at";
    return text + ".";
  }

  const Recorder& recorder_;
  Branch& branch_;
  const Branch::Find& original_;
  const CancelFlag& cancel_;
  std::vector<const BranchRead*> moved_;
  std::uint64_t behind_ = 0;  ///< id of the newest tensor when Python read the first of them
  ReadValues values_, attributes_;
  std::unordered_map<std::uint64_t, Constant> constants_;
  std::unordered_map<std::uint32_t, bool> pythons_;  ///< by parent
  std::int64_t looked_at_ = 0;
  UsesByPlace uses_;
  std::uint64_t decisions_ = 0, turned_ = 0, undecided_ = 0;
};

}  // namespace

BranchReads reads_in_branch(const Recorder& recorder, Branch& branch, const std::vector<BranchRead>& reads,
                            const Branch::Find& original, const CancelFlag& cancel) {
  return ReadSearch(recorder, branch, reads, original, cancel).run();
}

}  // namespace tapedeck::debug
