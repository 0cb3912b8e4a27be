// A record as the debug protocol carries it, with its tensors: parts of messages.
//
// Unlike other messages a record says what is not there with 0 or an empty text: a page has a thousand of
// them, each with several tensors, and whatever goes over a trace copies them. Other messages have an
// optional record or tensor; what they copy of a record, its place (cell, file, line), op and scope, is as it
// is here.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/protocol/field.h"
#include "engine/protocol/if_there.h"

namespace tapedeck::protocol {

enum class RecordKind : std::uint8_t { op, custom, playback, vjp, call };
enum class RecordState : std::uint8_t {
  pending,  ///< at the gate: inputs are there, outputs are only known by shape
  running,
  done,
  failed
};

/// The values' names on the wire and in files, in the order of the enumerators.
constexpr auto names(RecordKind) {
  return std::array<std::string_view, 5>{"op", "custom", "playback", "vjp", "call"};
}
/// What is known of the time that an op's work took. GPUs work while the host goes on, and tell later.
enum class WorkTime : std::uint8_t {
  host,     ///< the host did it: from the record's begin to its end
  pending,  ///< a GPU is at it, or was not asked yet
  known,    ///< a GPU did it, at these times
  lost      ///< a GPU did it, at a time that will never be known
};
constexpr auto names(WorkTime) {
  return std::array<std::string_view, 4>{"host", "pending", "known", "lost"};
}
constexpr auto names(RecordState) {
  return std::array<std::string_view, 4>{"pending", "running", "done", "failed"};
}

struct TensorInfo {
  std::uint64_t id = 0;  ///< 0: no tensor (a gradient that is None), or not made yet
  std::string dtype;     ///< "float32"
  std::vector<std::int64_t> shape;
  std::string device;  ///< "/cpu:0"
  /// A variable's name, "kernel:0", or where that does not tell it from others the way to it in Python,
  /// "model.layers[0].kernel"; else empty.
  std::string name;
  std::string preview;         ///< the values, where there are at most 4 and they are at hand; else empty
  std::uint64_t producer = 0;  ///< the record that made it; 0 for a leaf
  template <class Visit, class Self = TensorInfo>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("id", &Self::id), field("dtype", &Self::dtype), field("shape", &Self::shape),
                 field("device", &Self::device), field("name", &Self::name), field("preview", &Self::preview),
                 field("producer", &Self::producer));
  }
};

struct AttributeText {
  std::string name;
  std::string value;  ///< as Python writes it
  template <class Visit, class Self = AttributeText>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("name", &Self::name), field("value", &Self::value));
  }
};

/// One op, VJP, playback, custom gradient or call of a graph function that ran, or waits at the gate.
struct Record {
  std::uint64_t number = 0;  ///< from 1, in the order in which they began
  RecordKind kind = RecordKind::op;
  RecordState state = RecordState::done;
  /// "matmul"; a custom gradient's function name; "gradient" for a playback; of a call "f(x: float32 (3,))",
  /// of a part of one "if line 7: true", "loop line 5", "iteration 3".
  std::string op;
  bool custom_gradient = false;
  std::uint64_t parent = 0;   ///< the custom, playback, vjp or call record that it ran inside of; 0: none
  std::uint32_t depth = 0;    ///< number of ancestors
  bool backward = false;      ///< a playback, or inside one
  std::uint64_t forward = 0;  ///< vjp: the record whose VJP it is. Ops inside a vjp have that vjp's value too
  bool sums_gradients = false;  ///< op: the playback runs it, to add a contribution to a gradient
  std::uint64_t tape = 0;       ///< the innermost tape that recorded it, or is played; 0: none
  std::string scope;            ///< user's name scopes, "outer/inner"
  std::string cell;             ///< id of the cell whose source line ran; empty outside a notebook
  std::uint64_t execution = 0;  ///< of that cell: Jupyter's number, however often it ran since; 0: not known
  std::string file;             ///< source file, where no cell
  std::uint32_t line = 0;       ///< from 1; 0: unknown
  /// What the program wrote there, with its line breaks: "F.relu(x)"; empty: not known. In `backward` of the
  /// forward op, where `line` is that op's.
  std::string call;
  bool call_is_line = false;  ///< only the line is known, which `call` is
  std::uint64_t thread = 0;   ///< 0 for the first thread seen, then 1, 2, …
  std::int64_t start_ns = 0;  ///< since the session's start: when the program called it
  std::int64_t call_ns = 0;   ///< how long the call took
  WorkTime work = WorkTime::host;
  std::string device;              ///< that did the work; empty: the host, or no op
  std::int64_t work_start_ns = 0;  ///< since the session's start; 0 where it is not known
  std::int64_t duration_ns = 0;    ///< of the work; 0 where it is not known
  std::vector<AttributeText> attributes;
  std::vector<TensorInfo> inputs;
  std::vector<TensorInfo> outputs;
  std::string vjp_formula;  ///< of the op (op, vjp); empty for others
  std::string error;
  template <class Visit, class Self = Record>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("number", &Self::number), field("kind", &Self::kind), field("state", &Self::state),
                 field("op", &Self::op), field("custom_gradient", &Self::custom_gradient),
                 field("parent", &Self::parent), field("depth", &Self::depth),
                 field("backward", &Self::backward), field("forward", &Self::forward),
                 field("sums_gradients", &Self::sums_gradients), field("tape", &Self::tape),
                 field("scope", &Self::scope), field("cell", &Self::cell),
                 field("execution", &Self::execution), field("file", &Self::file), field("line", &Self::line),
                 field("call", &Self::call), field("call_is_line", &Self::call_is_line),
                 field("thread", &Self::thread), field("start_ns", &Self::start_ns),
                 field("call_ns", &Self::call_ns), field("work", &Self::work), field("device", &Self::device),
                 field("work_start_ns", &Self::work_start_ns), field("duration_ns", &Self::duration_ns),
                 field("attributes", &Self::attributes), field("inputs", &Self::inputs),
                 field("outputs", &Self::outputs), field("vjp_formula", &Self::vjp_formula),
                 field("error", &Self::error));
  }
};

struct CellLabel {
  std::string cell;   ///< id
  std::string label;  ///< what the user sees at the cell, "[3]"
  template <class Visit, class Self = CellLabel>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("cell", &Self::cell), field("label", &Self::label));
  }
};

}  // namespace tapedeck::protocol
