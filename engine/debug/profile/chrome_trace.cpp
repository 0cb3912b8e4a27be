#include "engine/debug/profile/chrome_trace.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace tapedeck::debug {
namespace {

using nlohmann::json;

std::string text_of(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);  // names may be of any bytes
}

/// Nanoseconds as microseconds, exactly.
std::string microseconds(std::int64_t ns) {
  char text[40];
  std::snprintf(text, sizeof text, "%s%lld.%03lld", ns < 0 ? "-" : "",
                static_cast<long long>(std::abs(ns) / 1000), static_cast<long long>(std::abs(ns) % 1000));
  return text;
}

}  // namespace

std::string chrome_trace_head(int process, const std::string& name) {
  const json title{{"ph", "M"}, {"name", "process_name"}, {"pid", process}, {"args", {{"name", name}}}};
  return "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n" + text_of(title);
}

std::string chrome_trace_event(const ProfileEvent& event, std::int64_t from, std::int64_t to,
                               const ProfileClass& of, const ProfileTexts& texts, int process) {
  json details{{"record", event.number}};
  const SourceLocation place = texts.location(of.location);
  if (!place.cell.empty()) details["cell"] = place.cell;
  if (place.cell.empty() && !place.file.empty()) details["file"] = place.file;
  if (place.line != 0) details["line"] = place.line;
  if (const std::string scope = texts.scope(of.scope); !scope.empty()) details["scope"] = scope;
  if (event.flops > 0) details["flops"] = event.flops;
  if (event.bytes > 0) details["bytes"] = event.bytes;
  const auto role = static_cast<std::size_t>(of.role);
  return ",\n{\"ph\":\"X\",\"name\":" + text_of(of.op) + ",\"cat\":\"" +
         std::string(protocol::names(ProfileRole{})[role]) + "\",\"ts\":" + microseconds(from) +
         ",\"dur\":" + microseconds(to - from) + ",\"pid\":" + std::to_string(process) +
         ",\"tid\":" + std::to_string(event.thread) + ",\"args\":" + text_of(details) + "}";
}

std::string chrome_trace_tail(std::span<const std::uint16_t> threads, int process) {
  std::string text;
  for (const std::uint16_t thread : threads)
    text += ",\n" + text_of(json{{"ph", "M"},
                                 {"name", "thread_name"},
                                 {"pid", process},
                                 {"tid", thread},
                                 {"args", {{"name", "thread " + std::to_string(thread)}}}});
  return text + "\n]}\n";
}

}  // namespace tapedeck::debug
