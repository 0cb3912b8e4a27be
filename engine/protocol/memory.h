// Memory: storages alive at a moment and their holders, the curve over the run, and what recomputation would
// save. Bytes are those of storages: views of one count once.
#pragma once

#include "engine/protocol/record.h"

namespace tapedeck::protocol {

/// Who holds a storage. Where several holders in the program do, the first of these; what the recording holds
/// is counted separately.
enum class MemoryHolder : std::uint8_t {
  variable,  ///< it is the present value of a variable
  tape,      ///< a tape keeps it for a VJP
  program,   ///< names, lists, calls, iterators: whatever else of the program
  recorder   ///< the recording: values and records
};
constexpr auto names(MemoryHolder) {
  return std::array<std::string_view, 4>{"variable", "tape", "program", "recorder"};
}

/// The curve of [first, last] in at most `points` pieces. Answer: MemoryCurve.
struct GetMemoryCurve {
  std::uint64_t first = 1;            ///< record
  std::optional<std::uint64_t> last;  ///< absent: the newest
  std::uint32_t points = 0;           ///< at most 4000
  static constexpr const char* type = "get_memory_curve";
  template <class Visit, class Self = GetMemoryCurve>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("first", &Self::first), field("last", &Self::last), field("points", &Self::points));
  }
};

/// Memory that grows from step to step, or grew until a run of a cell ended and went later; and who makes it.
struct MemoryGrowth {
  std::string sentence;
  std::uint64_t bytes = 0;             ///< a turn
  std::uint64_t turns = 0;             ///< how many there were
  std::string turn;                    ///< "step", "gradient", "run of the line", "run of the cell"
  std::uint64_t record = 0;            ///< the newest op that made some of it
  std::optional<std::uint64_t> freed;  ///< from this record on most of it is gone; absent: it is there
  std::string op;                      ///< as in Record, and the next three
  std::string cell, file;
  std::uint32_t line = 0;
  std::vector<std::uint64_t> tensors;  ///< some of them, for FindNames
  std::vector<std::uint64_t> tapes;    ///< that hold them
  template <class Visit, class Self = MemoryGrowth>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("sentence", &Self::sentence), field("bytes", &Self::bytes),
                 field("turns", &Self::turns), field("turn", &Self::turn), field("record", &Self::record),
                 field("freed", &Self::freed), field("op", &Self::op), field("cell", &Self::cell),
                 field("file", &Self::file), field("line", &Self::line), field("tensors", &Self::tensors),
                 field("tapes", &Self::tapes));
  }
};

struct MemoryCurve {
  std::uint64_t first = 0, last = 0;  ///< the records that it shows
  std::uint64_t total = 0;            ///< records that were looked at in all
  // For each piece: the record with the most bytes in it, how many those are by holder, and the least in sum.
  // `recorder` is what the recording took of its budget, beside the others.
  std::vector<double> records, variables, tapes, program, recorder, least;
  std::uint64_t peak_record = 0, peak_bytes = 0;  ///< of the whole run
  std::vector<MemoryGrowth> growth;               ///< the largest first, at most 5
  static constexpr const char* type = "memory_curve";
  template <class Visit, class Self = MemoryCurve>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("first", &Self::first), field("last", &Self::last), field("total", &Self::total),
                 field("records", &Self::records), field("variables", &Self::variables),
                 field("tapes", &Self::tapes), field("program", &Self::program),
                 field("recorder", &Self::recorder), field("least", &Self::least),
                 field("peak_record", &Self::peak_record), field("peak_bytes", &Self::peak_bytes),
                 field("growth", &Self::growth));
  }
};

enum class MemoryGroup : std::uint8_t { tensor, holder, line, scope };
constexpr auto names(MemoryGroup) {
  return std::array<std::string_view, 4>{"tensor", "holder", "line", "scope"};
}

/// What was alive while record `record` ran (absent: what is alive now; of a trace file, what was when it was
/// saved), in groups, the largest first; a page of at most 1000 rows. Answer: MemoryState.
struct GetMemoryState {
  std::optional<std::uint64_t> record;
  MemoryGroup group = MemoryGroup::tensor;
  std::uint64_t first = 0;
  std::uint32_t count = 0;
  static constexpr const char* type = "get_memory_state";
  template <class Visit, class Self = GetMemoryState>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("record", &Self::record), field("group", &Self::group), field("first", &Self::first),
                 field("count", &Self::count));
  }
};

/// A storage, or a group of them.
struct MemoryRow {
  std::string name;  ///< of a group; of a storage the variable's name, or empty
  MemoryHolder holder = MemoryHolder::program;
  std::optional<std::string> held_by;  ///< of a storage: "tape 12, for the VJP of matmul, op 217"
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;              ///< storages
  std::optional<std::uint64_t> record;  ///< what made it, of a group its largest; absent: no op
  std::string op;                       ///< of that record, and the next four
  std::string cell, file;
  std::uint32_t line = 0;
  std::string scope;
  TensorInfo tensor;                  ///< the storage's first tensor, of a group the largest one's
  std::optional<std::uint64_t> tape;  ///< that holds it
  bool borrowed = false;              ///< the memory is NumPy's, no part of the sums
  template <class Visit, class Self = MemoryRow>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("name", &Self::name), field("holder", &Self::holder), field("held_by", &Self::held_by),
                 field("bytes", &Self::bytes), field("count", &Self::count), field("record", &Self::record),
                 field("op", &Self::op), field("cell", &Self::cell), field("file", &Self::file),
                 field("line", &Self::line), field("scope", &Self::scope), field("tensor", &Self::tensor),
                 field("tape", &Self::tape), field("borrowed", &Self::borrowed));
  }
};

struct MemoryState {
  std::optional<std::uint64_t> record;  ///< absent: now; of a trace file: when it was saved
  std::uint64_t variables = 0, tapes = 0, program = 0;
  /// What the recording takes of its budget, as near to that moment as is known: values, also those that the
  /// program has too, and records. Status has the same.
  std::uint64_t recorder = 0;
  std::uint64_t recomputed = 0;  ///< now, live: values that were computed again for views, in no sum
  std::uint64_t borrowed = 0;    ///< NumPy's memory, in no sum
  std::uint64_t elsewhere = 0;   ///< now, live: in use, but seen by no record (iterators, what runs just now)
  std::uint64_t storages = 0, live_tapes = 0;
  std::uint64_t total = 0, first = 0;  ///< rows
  std::vector<MemoryRow> rows;
  std::optional<std::string> change;  ///< since the step before, in words
  static constexpr const char* type = "memory_state";
  template <class Visit, class Self = MemoryState>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("record", &Self::record), field("variables", &Self::variables),
                 field("tapes", &Self::tapes), field("program", &Self::program),
                 field("recorder", &Self::recorder), field("recomputed", &Self::recomputed),
                 field("borrowed", &Self::borrowed), field("elsewhere", &Self::elsewhere),
                 field("storages", &Self::storages), field("live_tapes", &Self::live_tapes),
                 field("total", &Self::total), field("first", &Self::first), field("rows", &Self::rows),
                 field("change", &Self::change));
  }
};

/// Which names of the program lead to these tensors and tapes: asked of the host language, at a stop or
/// between two cells. At most 1000 of each. Answer: FoundNames.
struct FindNames {
  std::optional<std::uint64_t> stop;  ///< as in ValuePlace
  std::vector<std::uint64_t> tensors, tapes;
  static constexpr const char* type = "find_names";
  template <class Visit, class Self = FindNames>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("stop", &Self::stop), field("tensors", &Self::tensors), field("tapes", &Self::tapes));
  }
};

struct NamePath {
  std::optional<std::uint64_t> tensor, tape;  ///< one of them
  std::string path;                           ///< "history[12].tape"
  std::string root;                           ///< the name that it begins with: "history"
  std::optional<std::uint64_t> items;         ///< of what the root is: a list's length
  template <class Visit, class Self = NamePath>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("tensor", &Self::tensor), field("tape", &Self::tape), field("path", &Self::path),
                 field("root", &Self::root), field("items", &Self::items));
  }
};

struct FoundNames {
  std::vector<NamePath> names;  ///< at most three for each
  bool complete = true;         ///< false: there was more to look through than time
  static constexpr const char* type = "found_names";
  template <class Visit, class Self = FoundNames>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("names", &Self::names), field("complete", &Self::complete));
  }
};

/// What tf.recompute_grad around each scope, or around the records [first, last], would save. Answer:
/// RecomputeSavings.
struct GetRecomputeSavings {
  std::optional<std::uint64_t> first, last;  ///< absent: the scopes of the tape at the peak
  static constexpr const char* type = "get_recompute_savings";
  template <class Visit, class Self = GetRecomputeSavings>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("first", &Self::first), field("last", &Self::last));
  }
};

struct RecomputeSaving {
  std::optional<std::string> scope;  ///< "encoder/block_3"; absent of a span
  std::uint64_t bytes = 0;           ///< that would not be there at the peak
  std::uint64_t held = 0;     ///< what the tape keeps for its ops, inputs of the scope and variables included
  std::int64_t again_ns = 0;  ///< what computing it again takes
  std::uint64_t ops = 0;
  std::uint64_t first = 0, last = 0;  ///< its first and last op
  std::string sentence;
  template <class Visit, class Self = RecomputeSaving>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("scope", &Self::scope), field("bytes", &Self::bytes), field("held", &Self::held),
                 field("again_ns", &Self::again_ns), field("ops", &Self::ops), field("first", &Self::first),
                 field("last", &Self::last), field("sentence", &Self::sentence));
  }
};

struct RecomputeSavings {
  std::uint64_t peak_record = 0, peak_bytes = 0;
  std::optional<std::uint64_t> tape;     ///< the one that holds most there
  std::vector<RecomputeSaving> savings;  ///< the largest first, at most 500
  std::string sentence;                  ///< of the best, or why there is none
  static constexpr const char* type = "recompute_savings";
  template <class Visit, class Self = RecomputeSavings>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("peak_record", &Self::peak_record), field("peak_bytes", &Self::peak_bytes),
                 field("tape", &Self::tape), field("savings", &Self::savings),
                 field("sentence", &Self::sentence));
  }
};

}  // namespace tapedeck::protocol
