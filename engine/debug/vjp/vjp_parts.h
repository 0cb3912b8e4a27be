// The inputs of a VJP and its outputs, also those that it will have: the answers to GetVjp and
// ExplainElement.
#pragma once

#include <deque>
#include <mutex>

#include "engine/debug/vjp/accumulators.h"
#include "engine/debug/vjp/foreign_formula.h"
#include "engine/debug/vjp/vjp_call.h"
#include "engine/protocol/vjp.h"

namespace tapedeck::debug {

class VjpReader {
 public:
  explicit VjpReader(Recorder& recorder) : recorder_(recorder) {}

  /// Throws Cancelled. If a value is lost, `problem` says why.
  protocol::VjpParts parts(const protocol::GetVjp& request, const FindTensor& find, const CancelFlag* cancel);
  /// Throws BadRequest, ValueError, Cancelled.
  protocol::ElementTerms explain(const protocol::ExplainElement& request, const FindTensor& find,
                                 const CancelFlag* cancel);

 private:
  /// What a VJP at the gate will give, and the sums after it; ids by input, 0: none.
  struct Foreseen {
    std::uint32_t record = 0;
    std::vector<std::uint64_t> contributions, before, after;
  };
  struct Place {
    RecordView vjp, forward;  ///< number 0: none
  };
  Place locate(std::uint64_t record, const CancelFlag* cancel) const;
  std::uint32_t vjp_before(std::uint32_t playback, std::uint32_t record, const CancelFlag* cancel) const;
  std::optional<std::uint16_t> depth_of_call(const RecordView& record) const;
  std::uint32_t vjp_of(const RecordView& forward, const CancelFlag* cancel) const;
  /// `row`: the forward op's, or of PyTorch's op one with its formula.
  void add_symbols(const Place& place, const OpDef* row, protocol::VjpParts& parts) const;
  void add_contributions(const Place& place, const ForeignFormula* foreign, const FindTensor& find,
                         const CancelFlag* cancel, protocol::VjpParts& parts);
  void add_sum(std::uint32_t record, const Place& place, const CancelFlag* cancel,
               protocol::VjpParts& parts) const;
  void add_results(std::uint32_t playback, protocol::VjpParts& parts) const;
  void add_inside(const RecordView& vjp, const CancelFlag* cancel, protocol::VjpParts& parts) const;
  Foreseen foresee(const Place& place, const VjpCall& call, const std::vector<Accumulation>& sums,
                   const FindTensor& find);
  std::optional<Foreseen> foreseen_before(std::uint32_t record);
  std::uint64_t keep(const Tensor& tensor);

  Recorder& recorder_;
  std::mutex mutex_;
  std::deque<Foreseen> foreseen_;  ///< of the last few stops
};

}  // namespace tapedeck::debug
