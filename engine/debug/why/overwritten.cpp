// Which op overwrote what another one keeps for its gradient? PyTorch's error names the tensor's shape and
// two counts of writes; the records have the ops.
#include "engine/debug/why/overwritten.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "engine/debug/why/elements.h"
#include "engine/debug/why/foreign_memory.h"
#include "engine/record/trace/tensor_specs.h"

namespace tapedeck::debug {
namespace {

constexpr std::string_view complaint = "modified by an inplace operation";
constexpr std::uint32_t failures_at_once = 4096;
constexpr std::size_t most_writes_told = 8;

/// What the error's text says.
struct Complaint {
  std::optional<Shape> shape;
  std::optional<std::int64_t> writes;  ///< since the tensor was kept
};

std::optional<std::int64_t> number_behind(const std::string& text, std::string_view words) {
  const std::size_t at = text.find(words);
  if (at == std::string::npos) return std::nullopt;
  std::int64_t number = 0;
  const char* first = text.data() + at + words.size();
  const auto [end, problem] = std::from_chars(first, text.data() + text.size(), number);
  return problem == std::errc() && end != first ? std::optional(number) : std::nullopt;
}

/// "[torch.FloatTensor [32, 8]], which is output 0 of SigmoidBackward0, is at version 1; expected version 0".
Complaint read_complaint(const std::string& error) {
  Complaint found;
  const std::size_t type = error.find("Tensor [");
  if (const std::size_t end = error.find(']', type); type != std::string::npos && end != std::string::npos) {
    Shape shape;
    const char* at = error.data() + type + 8;
    const char* const last = error.data() + end;
    bool known = true;
    while (known && at < last) {
      std::int64_t extent = 0;
      const auto [next, problem] = std::from_chars(at, last, extent);
      known = problem == std::errc() && shape.rank() < max_rank;
      if (known) shape.push_back(extent);
      at = next;
      while (at < last && (*at == ',' || *at == ' ')) ++at;
    }
    if (known) found.shape = shape;
  }
  const auto is = number_behind(error, "is at version "), due = number_behind(error, "expected version ");
  if (is && due && *is > *due) found.writes = *is - *due;
  return found;
}

/// A tensor that the forward op may have kept, and the writes into its memory since.
struct Kept {
  std::uint64_t tensor = 0;
  std::string what;  ///< "its input self", "its result"
  std::vector<ForeignWrite> writes;
};

class Overwritten {
 public:
  Overwritten(Past& past, const RecordView& failed)
      : past_(past), failed_(failed), complaint_(read_complaint(failed.error)) {}

  protocol::Because explain() {
    answer_.question = protocol::Question::gradient;
    vjp_ = failed_vjp();
    forward_ = vjp_ ? past_.record(vjp_->head.forward) : nullptr;
    const SharedMemory memory(past_, failed_.number);
    if (forward_) find_kept(memory);
    if (!kept_.empty())
      tell_kept(memory);
    else
      tell_unknown(memory);
    const RecordView& where = vjp_ ? *vjp_ : failed_;
    answer_.reasons.push_back(past_.reason(where, "failed here", "PyTorch refused to go on: " + where.error));
    return std::move(answer_);
  }

 private:
  Shape shape_of(std::uint64_t tensor) const {
    return spec_of(past_.recorder().trace().tensors().get(tensor).spec()).shape;
  }

  /// The innermost VJP that failed like this: the one asked about, or one inside.
  const RecordView* failed_vjp() {
    const Trace& trace = past_.recorder().trace();
    const std::uint32_t newest = trace.newest();
    std::vector<std::uint32_t> numbers;
    bool beyond = false;
    if (failed_.head.kind == EventKind::vjp) numbers.push_back(failed_.number);
    for (std::uint32_t first = failed_.number + 1; first <= newest && !beyond; first += failures_at_once) {
      check_cancelled(past_.cancel());
      trace.glance(first, std::min(newest, first + failures_at_once - 1), [&](const RecordGlance& glance) {
        if (glance.head.thread != failed_.head.thread) return;
        beyond = beyond || glance.head.depth <= failed_.head.depth;
        if (!beyond && glance.head.kind == EventKind::vjp && glance.state == RecordState::failed)
          numbers.push_back(glance.number);
      });
    }
    for (auto number = numbers.rbegin(); number != numbers.rend(); ++number)
      if (const RecordView* vjp = past_.record(*number); vjp && is_overwritten(*vjp)) return vjp;
    return nullptr;
  }

  void find_kept(const SharedMemory& memory) {
    std::set<std::uint64_t> seen;
    const auto consider = [&](std::uint64_t tensor, std::string what) {
      if (tensor == 0 || !seen.insert(tensor).second) return;
      if (complaint_.shape && !(shape_of(tensor) == *complaint_.shape)) return;
      Kept kept{tensor, std::move(what), memory.writes_into(tensor)};
      std::erase_if(kept.writes, [&](const ForeignWrite& write) {
        return write.record <= forward_->number || write.record >= failed_.number;
      });
      if (!kept.writes.empty()) kept_.push_back(std::move(kept));
    };
    const ForeignOp* op = forward_->head.op ? foreign_of(*forward_->head.op) : nullptr;
    const auto arguments = op ? arguments_of(*op, forward_->head.attributes, forward_->inputs.size())
                              : std::vector<const ForeignValue*>();
    for (std::size_t i = 0; i < forward_->inputs.size(); ++i)
      consider(forward_->inputs[i], i < arguments.size() ? "its input " + arguments[i]->name : "an input");
    for (std::size_t k = 0; k < forward_->outputs.size(); ++k)
      consider(forward_->outputs[k],
               forward_->outputs.size() == 1 ? "its result" : "its result " + std::to_string(k));
  }

  std::string line_of(const RecordView& record) const {
    const std::uint32_t line = past_.reason(record, {}, {}).line;
    return line ? "line " + std::to_string(line) : "op " + std::to_string(record.number);
  }

  void tell_kept(const SharedMemory& memory) {
    std::set<std::uint32_t> writers, sure;
    std::string what;
    for (const Kept& kept : kept_) {
      what += (what.empty() ? "" : " or ") + kept.what;
      for (const ForeignWrite& write : kept.writes) {
        writers.insert(write.record);
        if (!came_by_detach(write.before)) sure.insert(write.record);
      }
    }
    std::set<std::uint32_t> uncounted;
    if (complaint_.writes && static_cast<std::int64_t>(writers.size()) > *complaint_.writes &&
        static_cast<std::int64_t>(sure.size()) == *complaint_.writes && !sure.empty()) {
      for (const std::uint32_t number : writers)
        if (!sure.contains(number)) uncounted.insert(number);
      writers = std::move(sure);
    }
    const Kept& first = kept_.front();
    const RecordView* writer = past_.record(*writers.begin());
    if (!writer) return tell_unknown(memory);
    std::string& sentence = answer_.sentence;
    sentence = past_.name(*writer) + " overwrote what " + past_.name(*forward_) +
               " keeps for its gradient: " + what + ", " + to_string(shape_of(first.tensor)) + ".";
    for (const ForeignWrite& write : first.writes)
      if (write.record == writer->number) tell_view(first, write);
    tell_counts(writers);
    tell_uncounted(uncounted);
    for (const std::uint32_t number : writers) tell_writer(number);
    for (const std::uint32_t number : uncounted) tell_writer(number);
    for (const Kept& kept : kept_) {
      protocol::Reason reason = past_.reason(
          *forward_, "keeps it", "Its gradient needs " + kept.what + ", as it was when this op ran.");
      reason.tensor = protocol::if_there(past_.info(kept.tensor));
      answer_.reasons.push_back(std::move(reason));
    }
    for (protocol::Reason& reason : views_) answer_.reasons.push_back(std::move(reason));
    sentence +=
        " An op that makes a new tensor there leaves it as it was; so does a clone() before the write.";
  }

  /// Whether the tensor shares the memory by way of detach() or .data, whose writes PyTorch does not always
  /// count.
  bool came_by_detach(std::uint64_t tensor) {
    for (int back = 0; back < 100; ++back) {
      const RecordView* maker = past_.maker(tensor);
      const ForeignOp* op = maker ? foreign_op_of(*maker) : nullptr;
      if (!op || maker->inputs.empty()) return false;
      if (short_name(*op->row) == "detach") return true;
      const bool is_view =
          std::any_of(op->results.begin(), op->results.end(), [](const ForeignValue& result) {
            return result.is_tensor && !result.alias.empty() && !result.written;
          });
      if (!is_view) return false;
      tensor = maker->inputs[0];
    }
    return false;
  }

  void tell_uncounted(const std::set<std::uint32_t>& uncounted) {
    const RecordView* first = uncounted.empty() ? nullptr : past_.record(*uncounted.begin());
    if (!first) return;
    answer_.sentence +=
        " " + past_.name(*first) + (uncounted.size() > 1 ? " and others" : "") +
        " wrote there, too, but by PyTorch's count not into this tensor, as through .data: that "
        "alone gives a wrong gradient without an error.";
  }

  /// Where the write went through another tensor: what made that one.
  void tell_view(const Kept& kept, const ForeignWrite& write) {
    if (write.before == kept.tensor) return;
    const RecordView* view = past_.maker(write.before);
    answer_.sentence += " It wrote through another tensor on the same memory";
    if (view && view->number != forward_->number) {
      answer_.sentence += ", which " + past_.name(*view) + " made";
      views_.push_back(
          past_.reason(*view, "same memory", "The tensor that was written into came from here."));
      views_.back().tensor = protocol::if_there(past_.info(write.before));
    }
    answer_.sentence += ".";
  }

  void tell_writer(std::uint32_t number) {
    const RecordView* writer = past_.record(number);
    if (!writer || answer_.reasons.size() >= most_writes_told) return;
    protocol::Reason reason = past_.reason(*writer, "overwrote", "It wrote into the same memory.");
    if (!writer->outputs.empty()) reason.tensor = protocol::if_there(past_.info(writer->outputs[0]));
    answer_.reasons.push_back(std::move(reason));
  }

  /// PyTorch's count of writes beside that of the records.
  void tell_counts(const std::set<std::uint32_t>& writers) {
    const auto recorded = static_cast<std::int64_t>(writers.size());
    if (!complaint_.writes || *complaint_.writes == recorded) {
      if (recorded > 1)
        answer_.sentence += " It is the first of " + counted(writers.size(), "write") + " since then.";
      return;
    }
    answer_.complete = false;
    answer_.sentence += " PyTorch counted " +
                        counted(static_cast<std::uint64_t>(*complaint_.writes), "write") +
                        " since then, and the records have " + std::to_string(recorded) + ": " +
                        (*complaint_.writes > recorded
                             ? "others were not recorded."
                             : "some of them went around its count, as writes through .data do, or into "
                               "another tensor than the one that it means.");
  }

  void tell_unknown(const SharedMemory& memory) {
    answer_.complete = false;
    std::string& sentence = answer_.sentence;
    if (forward_)
      sentence =
          "What " + past_.name(*forward_) +
          " keeps for its gradient was overwritten, but no recorded op wrote into its inputs or results: "
          "the write was not recorded, as those of NumPy or of C++ are not.";
    else
      sentence =
          "An op wrote into what another one keeps for its gradient. Which one keeps it is not known: "
          "the part of the graph that refused has no record.";
    std::vector<ForeignWrite> writes = memory.writes();
    std::erase_if(writes, [&](const ForeignWrite& write) {
      return write.record >= failed_.number ||
             (complaint_.shape && !(shape_of(write.before) == *complaint_.shape));
    });
    if (forward_ || writes.empty()) return;
    if (complaint_.shape)
      sentence += " These wrote into tensors of shape " + to_string(*complaint_.shape) + ":";
    else
      sentence += " These wrote into tensors:";
    std::size_t named = 0;
    for (auto write = writes.rbegin(); write != writes.rend() && named < 3; ++write, ++named)
      if (const RecordView* writer = past_.record(write->record))
        sentence += (named ? ", " : " ") + past_.name(*writer);
    sentence += writes.size() > named ? ", and " + counted(writes.size() - named, "older one") + "." : ".";
    for (auto write = writes.rbegin(); write != writes.rend(); ++write) tell_writer(write->record);
  }

  Past& past_;
  const RecordView& failed_;
  const Complaint complaint_;
  protocol::Because answer_;
  const RecordView *vjp_ = nullptr, *forward_ = nullptr;
  std::vector<Kept> kept_;
  std::vector<protocol::Reason> views_;
};

}  // namespace

bool is_overwritten(const RecordView& record) {
  return record.state == RecordState::failed && record.error.find(complaint) != std::string::npos;
}

protocol::Because which_overwrote(Past& past, const RecordView& failed) {
  return Overwritten(past, failed).explain();
}

}  // namespace tapedeck::debug
