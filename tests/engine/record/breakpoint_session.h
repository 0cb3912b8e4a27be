// Breakpoints, and a program that they stop.
#pragma once

#include <QStringList>

#include "engine/record/trace/source_location.h"
#include "tests/engine/record/gated_program.h"

inline thread_local std::uint32_t line = 0;
inline thread_local std::uint64_t place = 0;
inline std::uint32_t capture_line() {
  tapedeck::set_last_place(place);
  return tapedeck::intern_location({"cell", "", line});
}
/// The program reaches a line, at a place in it.
inline void at_line(std::uint32_t number, std::uint64_t where = 0) {
  line = number;
  place = number * 1000 + where;
}

inline tapedeck::protocol::Breakpoint of_kind(tapedeck::protocol::BreakpointKind kind,
                                              const std::string& target = {},
                                              const std::string& condition = {}) {
  tapedeck::protocol::Breakpoint breakpoint;
  breakpoint.kind = kind;
  breakpoint.target = target;
  breakpoint.condition = condition;
  return breakpoint;
}
inline tapedeck::protocol::Breakpoint in_line(std::uint32_t number, const std::string& condition = {}) {
  tapedeck::protocol::Breakpoint breakpoint =
      of_kind(tapedeck::protocol::BreakpointKind::line, {}, condition);
  breakpoint.cell = "cell";
  breakpoint.line = number;
  return breakpoint;
}
inline tapedeck::protocol::Breakpoint when(const std::string& condition) {
  return of_kind(tapedeck::protocol::BreakpointKind::condition, {}, condition);
}

/// A program with breakpoints, which starts at once; the test checks where it stops.
struct BreakpointSession : GatedProgram {
  BreakpointSession(std::vector<tapedeck::protocol::Breakpoint> breakpoints, std::function<void()> program)
      : GatedProgram([this, program = std::move(program)] {
          try {
            program();
          } catch (const std::exception& error) {
            thrown = error.what();
          }
        }) {
    tapedeck::protocol::SetBreakpoints request;
    for (tapedeck::protocol::Breakpoint& one : breakpoints) {
      one.id = request.breakpoints.size() + 1;
      request.breakpoints.push_back(std::move(one));
    }
    states = recorder.breakpoints().set(request);
    start();
  }
  ~BreakpointSession() { let_it_end(); }
  struct Stop {
    std::string op;  ///< "test_exp"; empty: it ran to its end
    bool after = false;
    std::string reason;
    std::vector<std::uint64_t> breakpoints;
    tapedeck::protocol::Record record;
  };
  Stop stop() {
    const auto stopped = [this] { return recorder.gate().status().state == tapedeck::GateState::stopped; };
    if (!wait_for([&] { return stopped() || finished; }) || !stopped()) return {};
    const tapedeck::GateStatus status = recorder.gate().status();
    tapedeck::protocol::Record record = at(status.stopped_before);
    return {record.op, status.stopped_after, status.reason, status.breakpoints, record};
  }
  /// Continues to the next stop.
  Stop next() {
    recorder.gate().command(tapedeck::GateCommand::run);
    return stop();
  }
  /// All stops to the end: "before test_exp".
  QStringList all() {
    QStringList stops;
    for (Stop now = stop(); !now.op.empty(); now = next())
      stops << QString(now.after ? "after " : "before ") + QString::fromStdString(now.op);
    return stops;
  }
  std::uint64_t hits(std::size_t index = 0) const {
    for (const auto& one : recorder.breakpoints().hits())
      if (one.id == index + 1) return one.hits;
    return 0;
  }

  std::vector<tapedeck::protocol::BreakpointState> states;
  std::string thrown;
};
