// Callbacks through which breakpoints use the host's program, if there is one: values of names, and reports
// of lines.
#pragma once

#include "engine/protocol/conditions/condition.h"

namespace tapedeck {

struct HostProgram {
  /// The value of a name at the calling thread's place in the program. Throws protocol::NameError.
  protocol::NameValue (*name)(const std::string& name) = nullptr;
  /// The lines of breakpoints may have changed (Breakpoints::lines). Called on any thread, also without the
  /// host's lock; from then on the host calls Recorder::at_line before each of those lines.
  void (*lines_changed)() = nullptr;
  /// The same, on a host thread that holds the host's lock and is about to continue.
  void (*goes_on)() = nullptr;
};

/// An empty function removes it. Thread-safe.
void set_host_program(const HostProgram& program);
HostProgram host_program();

/// Whether the host reports this thread's lines; set by the host, on the thread.
bool lines_are_told();
void set_lines_are_told(bool told);

}  // namespace tapedeck
