// What breakpoints ask of the host's program, where there is one: what its names hold, and to be told of
// lines.
#pragma once

#include "engine/protocol/conditions/condition.h"

namespace tapedeck {

struct HostProgram {
  /// What a name of the program holds, where the calling thread is in it. Throws protocol::NameError.
  protocol::NameValue (*name)(const std::string& name) = nullptr;
  /// The lines that breakpoints wait for may have changed (Breakpoints::lines). On any thread, also one that
  /// does not hold the host's lock; from then on the host calls Recorder::at_line before each of those lines.
  void (*lines_changed)() = nullptr;
  /// The same, on a thread of the host's that holds its lock and is about to go on.
  void (*goes_on)() = nullptr;
};

/// An empty function removes it. Thread-safe.
void set_host_program(const HostProgram& program);
HostProgram host_program();

/// Whether the host tells of this thread's lines. The host says so itself, on the thread.
bool lines_are_told();
void set_lines_are_told(bool told);

}  // namespace tapedeck
