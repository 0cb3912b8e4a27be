// Traces as files: saving one, and what a file says of itself.
#pragma once

#include "engine/protocol/requests.h"

namespace tapedeck::protocol {

/// The text of a cell, or of a file that records mention.
struct SourceText {
  std::string cell;  ///< id; empty for a file
  std::string file;  ///< path, where no cell
  std::string text;
  static constexpr const char* type = "source";
  template <class Visit, class Self = SourceText>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("cell", &Self::cell), field("file", &Self::file), field("text", &Self::text));
  }
};

/// Writes what the recorder has to a file, while the program goes on: the records up to the newest that has
/// finished. Answer: TraceSaved, with Progress before it. Where it fails, or is cancelled, a file that was
/// there stays as it was.
struct SaveTrace {
  std::string path;                     ///< absolute; by convention it ends with .tapetrace
  std::string title;                    ///< the notebook's file, or the program's
  std::optional<std::string> notebook;  ///< as JSON text; absent for a program
  std::vector<CellLabel> labels;
  std::vector<SourceText> sources;  ///< of cells. Files that records mention are read by the session itself
  static constexpr const char* type = "save_trace";
  template <class Visit, class Self = SaveTrace>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("path", &Self::path), field("title", &Self::title), field("notebook", &Self::notebook),
                 field("labels", &Self::labels), field("sources", &Self::sources));
  }
};

struct TraceSaved {
  std::string path;
  std::uint64_t bytes = 0;  ///< of the file
  std::optional<std::uint64_t> first,
      last;                  ///< the oldest and the newest record in it; absent: there is none
  std::uint64_t values = 0;  ///< tensors whose values are in it, small ones apart
  static constexpr const char* type = "trace_saved";
  template <class Visit, class Self = TraceSaved>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("path", &Self::path), field("bytes", &Self::bytes), field("first", &Self::first),
                 field("last", &Self::last), field("values", &Self::values));
  }
};

/// Of what is a trace file? Answer: TraceFileInfo; of a live session a Failure.
struct GetTraceFile {
  static constexpr const char* type = "get_trace_file";
  template <class Visit>
  static constexpr auto fields(Visit&& visit) {
    return visit();
  }
};

struct TraceFileInfo {
  std::string path;
  std::uint64_t bytes = 0;
  std::string engine_version;  ///< that wrote it
  std::string title;
  std::optional<std::string> notebook;  ///< as in SaveTrace
  std::vector<CellLabel> labels;
  std::int64_t started_unix_ms = 0, saved_unix_ms = 0;
  std::vector<SourceText> sources;     ///< which ones there are; their texts are left out
  std::optional<std::string> problem;  ///< what part of the file was found to be damaged, so far
  static constexpr const char* type = "trace_file";
  template <class Visit, class Self = TraceFileInfo>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("path", &Self::path), field("bytes", &Self::bytes),
                 field("engine_version", &Self::engine_version), field("title", &Self::title),
                 field("notebook", &Self::notebook), field("labels", &Self::labels),
                 field("started_unix_ms", &Self::started_unix_ms),
                 field("saved_unix_ms", &Self::saved_unix_ms), field("sources", &Self::sources),
                 field("problem", &Self::problem));
  }
};

/// Answer: SourceText, or a Failure where the trace file does not have it.
struct GetSource {
  std::string cell, file;
  static constexpr const char* type = "get_source";
  template <class Visit, class Self = GetSource>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("cell", &Self::cell), field("file", &Self::file));
  }
};

}  // namespace tapedeck::protocol
