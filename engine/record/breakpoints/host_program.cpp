#include "engine/record/breakpoints/host_program.h"

#include <atomic>

namespace tapedeck {
namespace {

std::atomic<decltype(HostProgram::name)> name_function{nullptr};
std::atomic<decltype(HostProgram::lines_changed)> changed_function{nullptr};
std::atomic<decltype(HostProgram::goes_on)> goes_on_function{nullptr};
thread_local constinit bool told_here = false;

}  // namespace

void set_host_program(const HostProgram& program) {
  name_function = program.name;
  changed_function = program.lines_changed;
  goes_on_function = program.goes_on;
}

HostProgram host_program() {
  return {name_function.load(), changed_function.load(), goes_on_function.load()};
}

bool lines_are_told() {
  return told_here;
}
void set_lines_are_told(bool told) {
  told_here = told;
}

}  // namespace tapedeck
