// Profiles: where the time of a run went.
//
// Times are nanoseconds since the recording began, as in records. A span [from_ns, to_ns) takes in the
// records that begin in it; without to_ns it goes up to the newest. Each request first lets the engine extend
// its index for a moment: the index then covers `indexed` of `total` records, and a view asks again until it
// covers all.
#pragma once

#include "engine/protocol/record.h"

namespace tapedeck::protocol {

enum class ProfileRole : std::uint8_t {
  forward,   ///< an op of the program
  backward,  ///< a playback, a VJP, an op inside of one
  update,    ///< an optimiser's step
  custom,    ///< a custom gradient's forward pass
  python     ///< no op: the program between two of them
};
constexpr auto names(ProfileRole) {
  return std::array<std::string_view, 5>{"forward", "backward", "update", "custom", "python"};
}

/// What keeps an op from being faster.
enum class ProfileBound : std::uint8_t { unknown, compute, memory, overhead };
constexpr auto names(ProfileBound) {
  return std::array<std::string_view, 4>{"unknown", "compute", "memory", "overhead"};
}

/// One run of a cell; of a program without cells, all of it.
struct ProfileRun {
  std::optional<std::uint64_t> number;  ///< from 1; absent: all of a program without cells
  std::optional<std::string> cell;      ///< id; absent: no cell
  std::uint64_t execution = 0;          ///< Jupyter's number of the run; 0: not known
  std::int64_t from_ns = 0, to_ns = 0;
  std::int64_t paused_ns = 0;  ///< of that time at the gate: the thread that waited longest
  std::uint64_t records = 0;   ///< that began in it
  bool running = false;        ///< to_ns is now
  template <class Visit, class Self = ProfileRun>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("number", &Self::number), field("cell", &Self::cell),
                 field("execution", &Self::execution), field("from_ns", &Self::from_ns),
                 field("to_ns", &Self::to_ns), field("paused_ns", &Self::paused_ns),
                 field("records", &Self::records), field("running", &Self::running));
  }
};

/// Time on a thread after one op's end and before the next one's start, by the two places.
struct ProfileGap {
  std::uint64_t thread = 0;
  std::string from_cell, from_file, to_cell, to_file;
  std::optional<std::uint32_t> from_line, to_line;  ///< absent: the cell's start, or its end
  std::uint64_t count = 0;
  std::int64_t total_ns = 0, max_ns = 0;
  std::uint64_t record = 0;  ///< after the longest of them; before it where the cell ended
  template <class Visit, class Self = ProfileGap>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("thread", &Self::thread), field("from_cell", &Self::from_cell),
                 field("from_file", &Self::from_file), field("to_cell", &Self::to_cell),
                 field("to_file", &Self::to_file), field("from_line", &Self::from_line),
                 field("to_line", &Self::to_line), field("count", &Self::count),
                 field("total_ns", &Self::total_ns), field("max_ns", &Self::max_ns),
                 field("record", &Self::record));
  }
};

/// What a GPU did of a span's ops. It works while the host goes on: before the host's next op, and after.
struct ProfileDevice {
  std::string device;  ///< "/gpu:0"
  std::uint64_t calls = 0;
  std::uint64_t pending = 0;  ///< of them, those whose times are not known yet: they are in no sum
  std::uint64_t lost = 0;     ///< and those whose times will never be known
  std::int64_t forward_ns = 0, backward_ns = 0, update_ns = 0;
  template <class Visit, class Self = ProfileDevice>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("device", &Self::device), field("calls", &Self::calls),
                 field("pending", &Self::pending), field("lost", &Self::lost),
                 field("forward_ns", &Self::forward_ns), field("backward_ns", &Self::backward_ns),
                 field("update_ns", &Self::update_ns));
  }
};

/// Time in which the program waited for the user.
struct ProfilePause {
  bool at_gate = false;  ///< else: between two cells
  std::uint64_t thread = 0;
  std::int64_t from_ns = 0, to_ns = 0;
  template <class Visit, class Self = ProfilePause>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("at_gate", &Self::at_gate), field("thread", &Self::thread),
                 field("from_ns", &Self::from_ns), field("to_ns", &Self::to_ns));
  }
};

/// What a span's time went into, the host's: of a GPU's ops it has the calls. Answer: Profile.
struct GetProfile {
  std::int64_t from_ns = 0;
  std::optional<std::int64_t> to_ns;
  std::uint32_t gaps = 0;  ///< at most so many of the largest
  static constexpr const char* type = "get_profile";
  template <class Visit, class Self = GetProfile>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("from_ns", &Self::from_ns), field("to_ns", &Self::to_ns), field("gaps", &Self::gaps));
  }
};

struct Profile {
  std::uint64_t indexed = 0, total = 0;
  std::int64_t first_ns = 0, last_ns = 0;  ///< of all records that are kept
  std::int64_t from_ns = 0, to_ns = 0;     ///< the span that was asked for
  std::uint64_t thread = 0;                ///< the one that ran the most of it: what follows is of it alone
  std::int64_t run_ns = 0;     ///< ops and Python between them; not time at the gate, nor between two cells
  std::int64_t python_ns = 0;  ///< between ops, and in the user's own gradients
  std::int64_t forward_ns = 0, backward_ns = 0, update_ns = 0;
  std::uint64_t calls = 0;           ///< ops
  std::int64_t gate_ns = 0;          ///< waited there, in all threads
  std::vector<ProfilePause> pauses;  ///< of that, by `thread` in the span; at most 10,000, in order
  std::uint64_t steps = 0;           ///< that ended in the span
  std::int64_t step_median_ns = 0, step_max_ns = 0;  ///< without time at the gate
  std::optional<std::uint64_t> slowest_step;         ///< its place among the steps of its run, from 1
  std::vector<ProfileGap> gaps;                      ///< the largest first
  std::vector<ProfileRun> runs;                      ///< in order; the newest 1000
  std::vector<ProfileDevice> devices;                ///< GPUs that did some of the ops, of any thread
  static constexpr const char* type = "profile";
  template <class Visit, class Self = Profile>
  static constexpr auto fields(Visit&& visit) {
    return visit(
        field("indexed", &Self::indexed), field("total", &Self::total), field("first_ns", &Self::first_ns),
        field("last_ns", &Self::last_ns), field("from_ns", &Self::from_ns), field("to_ns", &Self::to_ns),
        field("thread", &Self::thread), field("run_ns", &Self::run_ns), field("python_ns", &Self::python_ns),
        field("forward_ns", &Self::forward_ns), field("backward_ns", &Self::backward_ns),
        field("update_ns", &Self::update_ns), field("calls", &Self::calls), field("gate_ns", &Self::gate_ns),
        field("pauses", &Self::pauses), field("steps", &Self::steps),
        field("step_median_ns", &Self::step_median_ns), field("step_max_ns", &Self::step_max_ns),
        field("slowest_step", &Self::slowest_step), field("gaps", &Self::gaps), field("runs", &Self::runs),
        field("devices", &Self::devices));
  }
};

/// Boxes as so many pixels show them. Answer: ProfileTrack.
struct GetProfileTrack {
  std::int64_t from_ns = 0;
  std::optional<std::int64_t> to_ns;
  std::uint32_t pixels = 0;  ///< at most 10,000
  static constexpr const char* type = "get_profile_track";
  template <class Visit, class Self = GetProfileTrack>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("from_ns", &Self::from_ns), field("to_ns", &Self::to_ns),
                 field("pixels", &Self::pixels));
  }
};

struct ProfileName {
  std::string op;
  ProfileRole role = ProfileRole::forward;
  template <class Visit, class Self = ProfileName>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("op", &Self::op), field("role", &Self::role));
  }
};

/// Records of one thread and depth, which do not overlap. Each box: one record, or several that lie within a
/// pixel; the lists go side by side.
struct ProfileLane {
  /// A GPU's, which did the thread's ops at these times; absent: the host's calls.
  std::optional<std::string> device;
  std::uint64_t thread = 0;
  std::uint32_t depth = 0;
  std::vector<double> starts, ends;    ///< nanoseconds after the answer's from_ns
  std::vector<double> busy;            ///< how much of that time records took, of it all
  std::vector<std::uint64_t> records;  ///< the longest of them
  std::vector<std::uint64_t> counts;
  std::vector<std::uint64_t> names;  ///< of the longest: its place in the answer's names
  template <class Visit, class Self = ProfileLane>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("device", &Self::device), field("thread", &Self::thread), field("depth", &Self::depth),
                 field("starts", &Self::starts), field("ends", &Self::ends), field("busy", &Self::busy),
                 field("records", &Self::records), field("counts", &Self::counts),
                 field("names", &Self::names));
  }
};

struct ProfileTrack {
  std::uint64_t indexed = 0, total = 0;
  std::int64_t first_ns = 0, last_ns = 0;
  std::int64_t from_ns = 0, to_ns = 0;
  std::vector<ProfileName> names;
  std::vector<ProfileLane> lanes;  ///< by thread, then depth; then those of GPUs
  std::vector<ProfilePause> pauses;
  static constexpr const char* type = "profile_track";
  template <class Visit, class Self = ProfileTrack>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("indexed", &Self::indexed), field("total", &Self::total),
                 field("first_ns", &Self::first_ns), field("last_ns", &Self::last_ns),
                 field("from_ns", &Self::from_ns), field("to_ns", &Self::to_ns), field("names", &Self::names),
                 field("lanes", &Self::lanes), field("pauses", &Self::pauses));
  }
};

enum class ProfileGroup : std::uint8_t { op, line, cell, scope };
constexpr auto names(ProfileGroup) {
  return std::array<std::string_view, 4>{"op", "line", "cell", "scope"};
}
enum class ProfileOrder : std::uint8_t { self, total, calls, mean, max, name, flops, roof };
constexpr auto names(ProfileOrder) {
  return std::array<std::string_view, 8>{"self", "total", "calls", "mean", "max", "name", "flops", "roof"};
}

/// A page of a span's table. Answer: ProfileTotals.
struct GetProfileTotals {
  std::int64_t from_ns = 0;
  std::optional<std::int64_t> to_ns;
  ProfileGroup group = ProfileGroup::op;
  ProfileOrder order = ProfileOrder::self;
  bool ascending = false;
  std::string filter;                  ///< rows in whose op, scope or file every word occurs
  std::uint32_t first = 0, count = 0;  ///< at most 1000
  std::vector<std::string>
      label_cells;  ///< cells' ids and, behind each, what the user calls it: for the filter
  static constexpr const char* type = "get_profile_totals";
  template <class Visit, class Self = GetProfileTotals>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("from_ns", &Self::from_ns), field("to_ns", &Self::to_ns), field("group", &Self::group),
                 field("order", &Self::order), field("ascending", &Self::ascending),
                 field("filter", &Self::filter), field("first", &Self::first), field("count", &Self::count),
                 field("label_cells", &Self::label_cells));
  }
};

struct ProfileRow {
  std::string name;  ///< the op, or the scope; of lines and cells the op that took the most
  ProfileRole role = ProfileRole::forward;
  std::string cell, file;
  std::uint32_t line = 0;
  std::optional<std::string> device;  ///< of an op: the GPU that did it; absent: the host
  std::uint64_t calls = 0;
  std::uint64_t pending = 0;  ///< of them, a GPU's whose times are not known yet, and are in none of these
  std::uint64_t lost = 0;     ///< and those whose times will never be known
  std::int64_t total_ns = 0;  ///< with what ran inside
  std::int64_t self_ns = 0;
  std::int64_t max_ns = 0;    ///< of one call, with what ran inside
  std::uint64_t slowest = 0;  ///< that call's record
  double flops = 0, bytes = 0;
  std::optional<double> roof_ns;  ///< how long that takes the machine at its best; absent: not measured
  ProfileBound bound = ProfileBound::unknown;
  template <class Visit, class Self = ProfileRow>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("name", &Self::name), field("role", &Self::role), field("cell", &Self::cell),
                 field("file", &Self::file), field("line", &Self::line), field("device", &Self::device),
                 field("calls", &Self::calls), field("pending", &Self::pending), field("lost", &Self::lost),
                 field("total_ns", &Self::total_ns), field("self_ns", &Self::self_ns),
                 field("max_ns", &Self::max_ns), field("slowest", &Self::slowest),
                 field("flops", &Self::flops), field("bytes", &Self::bytes), field("roof_ns", &Self::roof_ns),
                 field("bound", &Self::bound));
  }
};

struct ProfileTotals {
  std::uint64_t indexed = 0, total = 0;
  ProfileGroup group = ProfileGroup::op;
  std::uint64_t rows_total = 0;  ///< that the filter lets through
  std::int64_t self_ns = 0;      ///< of all rows of the span
  std::uint32_t first = 0;
  std::vector<ProfileRow> rows;
  static constexpr const char* type = "profile_totals";
  template <class Visit, class Self = ProfileTotals>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("indexed", &Self::indexed), field("total", &Self::total), field("group", &Self::group),
                 field("rows_total", &Self::rows_total), field("self_ns", &Self::self_ns),
                 field("first", &Self::first), field("rows", &Self::rows));
  }
};

/// Self time by path: scopes and ops, or cells, lines and ops. Answer: ProfileFlame.
struct GetProfileFlame {
  std::int64_t from_ns = 0;
  std::optional<std::int64_t> to_ns;
  bool by_line = false;
  static constexpr const char* type = "get_profile_flame";
  template <class Visit, class Self = GetProfileFlame>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("from_ns", &Self::from_ns), field("to_ns", &Self::to_ns),
                 field("by_line", &Self::by_line));
  }
};

struct ProfileNode {
  std::uint64_t parent = 0;  ///< its place in the list; the root, which is the first, has 0
  std::string name;          ///< a scope's last part, an op; empty of a cell or line
  std::string cell, file;
  std::uint32_t line = 0;
  ProfileRole role = ProfileRole::forward;  ///< of an op
  bool op = false;                          ///< a leaf
  std::optional<std::string> device;        ///< of an op: the GPU that did it; absent: the host
  std::uint64_t calls = 0;
  std::int64_t total_ns = 0;  ///< self times of all below it
  std::uint64_t slowest = 0;  ///< record of the longest call below it
  std::int64_t max_ns = 0;
  template <class Visit, class Self = ProfileNode>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("parent", &Self::parent), field("name", &Self::name), field("cell", &Self::cell),
                 field("file", &Self::file), field("line", &Self::line), field("role", &Self::role),
                 field("op", &Self::op), field("device", &Self::device), field("calls", &Self::calls),
                 field("total_ns", &Self::total_ns), field("slowest", &Self::slowest),
                 field("max_ns", &Self::max_ns));
  }
};

struct ProfileFlame {
  std::uint64_t indexed = 0, total = 0;
  bool by_line = false;
  std::uint64_t pending = 0;       ///< calls of GPUs' ops whose times are not known yet: they are not here
  std::vector<ProfileNode> nodes;  ///< a parent before its children, the larger ones first
  static constexpr const char* type = "profile_flame";
  template <class Visit, class Self = ProfileFlame>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("indexed", &Self::indexed), field("total", &Self::total),
                 field("by_line", &Self::by_line), field("pending", &Self::pending),
                 field("nodes", &Self::nodes));
  }
};

/// Steps of training in a span: each ends with updates of variables, an optimiser's or written by hand.
/// Answer: ProfileSteps.
struct GetProfileSteps {
  std::int64_t from_ns = 0;
  std::optional<std::int64_t> to_ns;
  std::uint32_t most = 0;  ///< points; where there are more steps, each is the slowest of several
  static constexpr const char* type = "get_profile_steps";
  template <class Visit, class Self = GetProfileSteps>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("from_ns", &Self::from_ns), field("to_ns", &Self::to_ns), field("most", &Self::most));
  }
};

struct ProfileSteps {
  std::uint64_t indexed = 0, total = 0;
  std::uint64_t steps = 0;             ///< in the span
  std::vector<std::uint64_t> numbers;  ///< from 1, among the steps of its run
  std::vector<double> starts, ends;    ///< nanoseconds after from_ns
  std::vector<double> durations;       ///< without time at the gate
  std::vector<double> python;          ///< of it
  std::vector<std::uint64_t> records;  ///< the last update
  std::vector<std::uint64_t> slowest;  ///< places in these lists, the slowest first; at most 10
  static constexpr const char* type = "profile_steps";
  template <class Visit, class Self = ProfileSteps>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("indexed", &Self::indexed), field("total", &Self::total), field("steps", &Self::steps),
                 field("numbers", &Self::numbers), field("starts", &Self::starts), field("ends", &Self::ends),
                 field("durations", &Self::durations), field("python", &Self::python),
                 field("records", &Self::records), field("slowest", &Self::slowest));
  }
};

/// What an op had to do. Answer: ProfileCost.
struct GetProfileCost {
  std::uint64_t record = 0;
  static constexpr const char* type = "get_profile_cost";
  template <class Visit, class Self = GetProfileCost>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("record", &Self::record));
  }
};

struct ProfileCost {
  std::uint64_t record = 0;
  double flops = 0, bytes = 0;
  std::optional<std::int64_t> duration_ns;  ///< of the work; absent where a GPU has not reported it
  std::optional<double> roof_ns;            ///< as in ProfileRow
  ProfileBound bound = ProfileBound::unknown;
  static constexpr const char* type = "profile_cost";
  template <class Visit, class Self = ProfileCost>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("record", &Self::record), field("flops", &Self::flops), field("bytes", &Self::bytes),
                 field("duration_ns", &Self::duration_ns), field("roof_ns", &Self::roof_ns),
                 field("bound", &Self::bound));
  }
};

/// What the machine can do at its best: measured in the session process, for at most half a second, never
/// while a cell runs; kept in a file of the user's for next time. Answer: Peaks.
struct GetPeaks {
  bool again = false;  ///< measure, even if it was
  static constexpr const char* type = "get_peaks";
  template <class Visit, class Self = GetPeaks>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("again", &Self::again));
  }
};

struct Peaks {
  bool known = false;
  std::string machine;
  std::uint32_t threads = 0;
  double float32_gflops = 0, float64_gflops = 0;
  double memory_gbytes = 0;            ///< a second, from and to main memory
  double cache_gbytes = 0;             ///< where what an op reads and writes fits the cache
  double cache_bytes = 0;              ///< that fit it
  double overhead_ns = 0;              ///< of the smallest op
  std::optional<std::string> problem;  ///< why it is not known, or was not measured again, a sentence
  static constexpr const char* type = "peaks";
  template <class Visit, class Self = Peaks>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("known", &Self::known), field("machine", &Self::machine),
                 field("threads", &Self::threads), field("float32_gflops", &Self::float32_gflops),
                 field("float64_gflops", &Self::float64_gflops), field("memory_gbytes", &Self::memory_gbytes),
                 field("cache_gbytes", &Self::cache_gbytes), field("cache_bytes", &Self::cache_bytes),
                 field("overhead_ns", &Self::overhead_ns), field("problem", &Self::problem));
  }
};

/// Records as Chrome's trace events, piece by piece. Answer: ChromeTrace.
struct GetChromeTrace {
  std::uint64_t first = 1;  ///< record
  std::int64_t from_ns = 0;
  std::optional<std::int64_t> to_ns;
  static constexpr const char* type = "get_chrome_trace";
  template <class Visit, class Self = GetChromeTrace>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("first", &Self::first), field("from_ns", &Self::from_ns),
                 field("to_ns", &Self::to_ns));
  }
};

struct ChromeTrace {
  std::optional<std::uint64_t> next;  ///< ask from there on; absent: that was the last piece
  std::uint64_t total = 0;
  std::string json;  ///< the pieces in a row are one JSON text
  static constexpr const char* type = "chrome_trace";
  template <class Visit, class Self = ChromeTrace>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("next", &Self::next), field("total", &Self::total), field("json", &Self::json));
  }
};

}  // namespace tapedeck::protocol
