// Evaluates breakpoints for one event: whether they are hit, and the effect of a hit.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/record/breakpoints/break_event.h"
#include "engine/record/breakpoints/break_values.h"
#include "engine/record/breakpoints/breakpoint_set.h"
#include "engine/record/breakpoints/gate.h"
#include "engine/record/trace/series.h"
#include "engine/record/values/values.h"

namespace tapedeck {

/// The reason of a breakpoint's stop: "op matmul, nan(out)". `written`: the name of the assigned variable.
std::string breakpoint_text(const protocol::Breakpoint& source, const std::string& written,
                            const std::string& error);

/// Recorder data that conditions may need besides the event; log points add to `series`.
struct BreakSources {
  const Values& values;
  const TensorTable& tensors;
  SeriesStore& series;
};

/// Evaluates several breakpoints in turn; each tensor's values are read once for all of them.
class BreakCheck {
 public:
  BreakCheck(const BreakSources& known, const BreakpointSet& set, const BreakEvent& event)
      : known_(known), set_(set), event_(event) {}

  /// Also "yes" if the condition uses an undefined Python name.
  protocol::Verdict verdict(const CompiledBreakpoint& breakpoint);
  /// Counts the hit and runs the breakpoint's action; returns whether the program stops. It always stops if
  /// the condition uses an undefined Python name; the reason says so.
  bool hit(CompiledBreakpoint& breakpoint, std::optional<BreakStop>& stop);
  /// Of the breakpoint that was asked last: a name of its condition is missing.
  bool misses_name() const { return !name_problem_.empty(); }
  /// The newest point of a curve that its condition looked at; 0: of none.
  std::uint64_t series_position() const { return series_position_; }
  /// A line has run without an op. Its condition held before the line, and looked at that point of a curve.
  void hit_without_op(CompiledBreakpoint& breakpoint, std::uint64_t series_position);

 private:
  protocol::Verdict look(const protocol::TextTerm& term);
  protocol::Verdict look(protocol::Flag flag) const;
  protocol::Verdict look(const protocol::ShapeTerm& term);
  protocol::Verdict look(const protocol::NumberTerm& term);
  protocol::Verdict look(const protocol::ValueTerm& term);
  protocol::Verdict look(const protocol::SeriesTerm& term);
  protocol::Verdict look(const protocol::NameTerm& term);
  protocol::Verdict reads(const protocol::TextTerm& term) const;
  void gather();
  std::optional<double> measure(bool output, std::size_t index, const protocol::Quantity& quantity);
  std::optional<double> measure_first(const protocol::Quantity& quantity);
  bool seen(CompiledBreakpoint& breakpoint);
  std::string reason(const CompiledBreakpoint& breakpoint);
  void add_to(std::optional<BreakStop>& stop, const CompiledBreakpoint& breakpoint);
  std::string write(const CompiledBreakpoint& breakpoint, std::uint64_t hits);
  std::string fact(std::string_view name, std::uint64_t hits);
  std::string measure_text(const protocol::Quantity& quantity);
  std::string without_op();

  const BreakSources known_;
  const BreakpointSet& set_;
  const BreakEvent& event_;
  const CompiledBreakpoint* current_ = nullptr;
  BreakValues values_;
  protocol::OpFacts facts_;
  boost::container::small_vector<protocol::TensorFacts, 4> inputs_, outputs_;
  boost::container::small_vector<const Tensor*, 4> input_tensors_, output_tensors_;
  bool gathered_ = false;
  std::string name_problem_;  ///< of the current breakpoint
  bool no_op_said_ = false;   ///< by the log line that is written just now
  std::uint64_t series_position_ = 0;
  // The operand of the current breakpoint's last value term.
  const Tensor* measured_ = nullptr;
  protocol::Quantity measured_quantity_;
  double measured_value_ = 0;
};

}  // namespace tapedeck
