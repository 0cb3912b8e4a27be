// The path of PyTorch's ops from a tensor to the result of a backward pass, and where no gradient comes back
// along it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "engine/debug/why/written_memory.h"

namespace tapedeck::debug {

/// autograd.AccumulateGrad: where a gradient arrives at a tensor's grad.
bool is_arrival(const OpDef& op);

/// The records that ran inside of that one, in order; they have ended.
std::vector<std::uint32_t> records_inside(Past& past, const RecordView& outer);

/// "the backward pass (op 8, line 6)".
std::string pass_text(const Past& past, const RecordView& playback);

class ForeignPath {
 public:
  /// `values`: of the tensor that is asked about, with the older ones of the same variable. Throws Cancelled.
  ForeignPath(Past& past, const RecordView& playback, std::set<std::uint64_t> values);

  /// The VJP of that record in this playback; nullptr: none ran.
  const RecordView* vjp_of(std::uint32_t forward) const;
  const RecordView* vjp_of_function_around(const RecordView& record) const;
  /// Why no gradient came to the tensor, which `text` describes.
  protocol::Because explain(const std::string& text);

  struct Break {
    const RecordView* record = nullptr;
    std::string why;
  };
  const std::vector<Break>& breaks() const { return breaks_; }
  /// What the result was made of, and no recorded op made.
  const std::set<std::uint64_t>& leaves() const { return leaves_; }
  bool is_made_by_records() const { return !ancestors_.empty() || !rewritten_.empty(); }

 private:
  void collect_vjps();
  void collect_ancestors();
  void walk();
  bool is_alive(std::uint64_t tensor);
  std::optional<std::string> why_broken(const RecordView& record, const std::vector<std::size_t>& inputs);
  std::optional<std::string> why_not_required(const RecordView& record,
                                              const std::vector<std::size_t>& inputs) const;
  bool explain_new_leaf(protocol::Because& answer);
  bool depends(std::uint64_t tensor);
  void explain_independent(protocol::Because& answer);
  void explain_unbroken(const std::string& text, protocol::Because& answer) const;

  Past& past_;
  const RecordView& playback_;
  const std::set<std::uint64_t> values_;
  WrittenMemory memory_;
  std::multimap<std::uint32_t, const RecordView*> vjps_;  ///< by the forward record
  std::set<std::uint32_t> ancestors_;                     ///< records that the target was made by
  std::set<std::uint64_t> leaves_;                        ///< what none of them made
  std::map<std::uint64_t, std::vector<std::uint64_t>>
      rewritten_;  ///< what a value in written memory comes from
  std::set<std::uint64_t> alive_, in_function_;
  std::vector<Break> breaks_;
  bool connected_ = false, too_many_ = false;
};

}  // namespace tapedeck::debug
