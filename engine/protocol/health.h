// Health: what gradients, weights and activations do over the steps of a training run.
#pragma once

#include "engine/protocol/record.h"

namespace tapedeck::protocol {

enum class HealthKind : std::uint8_t {
  variable,    ///< a variable that gradients were asked for
  activation,  ///< what a layer's activation function gives
  loss,        ///< what gradients were asked of
  published    ///< what an optimiser says of itself: L-BFGS's pairs
};
constexpr auto names(HealthKind) {
  return std::array<std::string_view, 4>{"variable", "activation", "loss", "published"};
}

/// One run of a cell in which steps ended or samples were taken, up to the next run's start; without cells
/// all of the program. Steps count from 1 within it.
struct HealthRun {
  std::uint64_t number = 0;  ///< as in CellRun; 0: before the first run that is known, or without cells
  std::optional<std::string> cell;            ///< id
  std::uint64_t of_cell = 0;                  ///< which run of that cell it is, from 1
  std::uint64_t first = 0, last = 0;          ///< records
  std::uint64_t steps = 0;                    ///< that ran
  std::uint64_t sampled = 0, recomputed = 0;  ///< of them; of those afterwards, not while they ran
  std::uint64_t gone = 0;                     ///< whose values could not be had
  bool newest = true;                         ///< of its cell
  bool cut = false;                           ///< steps before the first were forgotten uncounted
  template <class Visit, class Self = HealthRun>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("number", &Self::number), field("cell", &Self::cell), field("of_cell", &Self::of_cell),
                 field("first", &Self::first), field("last", &Self::last), field("steps", &Self::steps),
                 field("sampled", &Self::sampled), field("recomputed", &Self::recomputed),
                 field("gone", &Self::gone), field("newest", &Self::newest), field("cut", &Self::cut));
  }
};

/// A page of the table. Answer: Health.
struct GetHealth {
  std::uint32_t live_ms = 0;  ///< the steps of so much time from now on are sampled while they run; 0: none
  std::uint32_t first = 0, count = 0;     ///< rows
  std::uint32_t columns = 64;             ///< of each strip, at most 1000
  std::optional<std::uint64_t> run = {};  ///< number; absent, or not known: the newest one
  static constexpr const char* type = "get_health";
  template <class Visit, class Self = GetHealth>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("live_ms", &Self::live_ms), field("first", &Self::first), field("count", &Self::count),
                 field("columns", &Self::columns), field("run", &Self::run));
  }
};

/// One quantity over all steps of a run: each column covers as many steps as the others.
struct HealthStrip {
  std::string
      quantity;  ///< "gradient", "weight", "update", "rank", "dead", "saturated", "not finite", "loss"
  double newest = 0;
  std::uint64_t record = 0;    ///< of the newest sample
  std::vector<double> values;  ///< the most extreme of each column; NaN: no sample
  template <class Visit, class Self = HealthStrip>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("quantity", &Self::quantity), field("newest", &Self::newest),
                 field("record", &Self::record), field("values", &Self::values));
  }
};

struct HealthRow {
  std::uint64_t subject = 0;  ///< a number that stays
  HealthKind kind = HealthKind::variable;
  std::string name;
  std::string scope;
  std::string op;          ///< of activations: "relu"
  std::string cell, file;  ///< as in Record
  std::uint32_t line = 0;
  std::vector<std::int64_t> shape;
  std::vector<HealthStrip> strips;
  template <class Visit, class Self = HealthRow>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("subject", &Self::subject), field("kind", &Self::kind), field("name", &Self::name),
                 field("scope", &Self::scope), field("op", &Self::op), field("cell", &Self::cell),
                 field("file", &Self::file), field("line", &Self::line), field("shape", &Self::shape),
                 field("strips", &Self::strips));
  }
};

struct Health {
  std::uint64_t steps = 0;             ///< that ran, in all runs
  std::uint64_t run = 0;               ///< number of the run that the rows are about
  std::vector<HealthRun> runs;         ///< in order; the newest 1000
  std::optional<std::uint32_t> every;  ///< one step of so many is sampled while it runs; absent: none is
  std::uint64_t version = 0;           ///< grows with each sample
  std::uint32_t first = 0, total = 0;  ///< rows
  std::vector<HealthRow> rows;         ///< the layers in their order, what optimisers say at the end
  static constexpr const char* type = "health";
  template <class Visit, class Self = Health>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("steps", &Self::steps), field("run", &Self::run), field("runs", &Self::runs),
                 field("every", &Self::every), field("version", &Self::version), field("first", &Self::first),
                 field("total", &Self::total), field("rows", &Self::rows));
  }
};

/// All samples of one quantity, or so many that they are distinguishable. Answer: HealthCurve.
struct GetHealthCurve {
  std::uint64_t subject = 0;
  std::string quantity;
  std::uint32_t most = 1000;              ///< points, at most 10,000
  std::optional<std::uint64_t> run = {};  ///< as in GetHealth
  static constexpr const char* type = "get_health_curve";
  template <class Visit, class Self = GetHealthCurve>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("subject", &Self::subject), field("quantity", &Self::quantity),
                 field("most", &Self::most), field("run", &Self::run));
  }
};

struct HealthCurve {
  std::uint64_t subject = 0;
  std::uint64_t run = 0;  ///< number
  std::string quantity;
  std::vector<double> steps, values;   ///< steps from 1
  std::vector<std::uint64_t> records;  ///< where the cursor goes for that point
  static constexpr const char* type = "health_curve";
  template <class Visit, class Self = HealthCurve>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("subject", &Self::subject), field("run", &Self::run),
                 field("quantity", &Self::quantity), field("steps", &Self::steps),
                 field("values", &Self::values), field("records", &Self::records));
  }
};

/// Recomputes steps of runs that were not sampled while they ran, coarse to fine, and then those between
/// which a finding begins. Works for `most_ms` at most; ask again until it is complete. Answer:
/// HealthSampled.
struct SampleHealth {
  std::uint32_t steps = 40;  ///< spread over each run
  std::uint32_t most_ms = 500;
  std::optional<std::uint64_t> run = {};  ///< number; absent: the newest of each cell
  static constexpr const char* type = "sample_health";
  template <class Visit, class Self = SampleHealth>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("steps", &Self::steps), field("most_ms", &Self::most_ms), field("run", &Self::run));
  }
};

struct HealthSampled {
  std::uint64_t done = 0, wanted = 0;  ///< steps
  bool complete = true;                ///< nothing is left to recompute
  std::optional<std::string> problem;  ///< why a step could not be had; absent: all could
  static constexpr const char* type = "health_sampled";
  template <class Visit, class Self = HealthSampled>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("done", &Self::done), field("wanted", &Self::wanted),
                 field("complete", &Self::complete), field("problem", &Self::problem));
  }
};

/// What the rules say of the samples. Answer: HealthFindings.
struct GetHealthFindings {
  bool explain = true;                    ///< also why a gradient is None or zero
  std::optional<std::uint64_t> run = {};  ///< number; absent: the newest of each cell
  static constexpr const char* type = "get_health_findings";
  template <class Visit, class Self = GetHealthFindings>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("explain", &Self::explain), field("run", &Self::run));
  }
};

enum class HealthSeverity : std::uint8_t { note, warning, error };
constexpr auto names(HealthSeverity) {
  return std::array<std::string_view, 3>{"note", "warning", "error"};
}

struct HealthFinding {
  std::string rule;  ///< "dead units"
  HealthSeverity severity = HealthSeverity::warning;
  std::string sentence;
  std::string cure;
  std::uint64_t run = 0;  ///< number
  std::uint64_t subject = 0;
  std::string quantity;                 ///< the curve that shows it
  std::uint64_t since = 0;              ///< step of the run
  std::optional<std::uint64_t> before;  ///< the last step that was looked at and did not show it
  std::uint64_t record = 0;
  std::string op;          ///< of that record
  std::string cell, file;  ///< of the line that it is about
  std::uint32_t line = 0;
  std::optional<TensorInfo> tensor;  ///< to be shown
  bool check = false;                ///< Question::check about its record says more
  template <class Visit, class Self = HealthFinding>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("rule", &Self::rule), field("severity", &Self::severity),
                 field("sentence", &Self::sentence), field("cure", &Self::cure), field("run", &Self::run),
                 field("subject", &Self::subject), field("quantity", &Self::quantity),
                 field("since", &Self::since), field("before", &Self::before), field("record", &Self::record),
                 field("op", &Self::op), field("cell", &Self::cell), field("file", &Self::file),
                 field("line", &Self::line), field("tensor", &Self::tensor), field("check", &Self::check));
  }
};

/// What the rules could not see of a run.
struct HealthNotSeen {
  std::uint64_t run = 0;  ///< number
  std::string sentence;
  template <class Visit, class Self = HealthNotSeen>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("run", &Self::run), field("sentence", &Self::sentence));
  }
};

struct HealthFindings {
  std::uint64_t version = 0;            ///< of the samples, as in Health
  std::vector<HealthFinding> findings;  ///< the gravest first, causes before what they lead to
  std::vector<HealthNotSeen> not_seen;
  static constexpr const char* type = "health_findings";
  template <class Visit, class Self = HealthFindings>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("version", &Self::version), field("findings", &Self::findings),
                 field("not_seen", &Self::not_seen));
  }
};

}  // namespace tapedeck::protocol
