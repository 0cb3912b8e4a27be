#include "engine/backend/backend.h"

#include <sstream>

namespace tapedeck {

std::string place_in_batch(const Shape& batch, std::int64_t number) {
  if (batch.rank() == 0) return {};
  std::string text;
  for (int axis = batch.rank() - 1; axis >= 0; --axis) {
    text = std::to_string(number % batch[axis]) + (text.empty() ? "" : ", ") + text;
    number /= batch[axis];
  }
  return "[" + text + "]";
}

namespace {

void replace(std::string& text, const char* mark, std::string_view with) {
  if (const std::size_t at = text.find(mark); at != std::string::npos) text.replace(at, 3, with);
}

}  // namespace

std::string named(const kernels::FailureText& text) {
  std::string named = text.pattern;
  replace(named, "{o}", text.op);
  replace(named, "{i}", text.input);
  return named;
}

std::string failure_message(const kernels::FailureText& text, const kernels::MatrixFailure& failure) {
  std::ostringstream value;
  value << failure.failure.value;
  std::string message = named(text);
  replace(message, "{m}", place_in_batch(text.batch, failure.matrix));
  replace(message, "{p}", std::to_string(failure.failure.place));
  replace(message, "{v}", value.str());
  return message;
}

}  // namespace tapedeck
