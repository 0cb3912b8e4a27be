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

/// Threads have their own numbers.
std::string track_of(std::uint8_t gpu, std::uint16_t thread) {
  return std::to_string(std::uint32_t{gpu} << 16 | thread);
}

std::string category(const ProfileClass& of) {
  return std::string(protocol::names(ProfileRole{})[static_cast<std::size_t>(of.role)]);
}

std::string title_of_track(const std::string& track, const std::string& name, int process) {
  return ",\n" + text_of(json{{"ph", "M"},
                              {"name", "thread_name"},
                              {"pid", process},
                              {"tid", std::stoul(track)},
                              {"args", {{"name", name}}}});
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
  if (const std::uint32_t execution = place.cell.empty() ? 0 : texts.execution(place.cell, event.number))
    details["execution"] = execution;
  if (place.cell.empty() && !place.file.empty()) details["file"] = place.file;
  if (place.line != 0) details["line"] = place.line;
  if (const std::string scope = texts.scope(of.scope); !scope.empty()) details["scope"] = scope;
  if (event.flops > 0) details["flops"] = event.flops;
  if (event.bytes > 0) details["bytes"] = event.bytes;
  if (event.gpu != 0) details["device"] = device_text(event.gpu);
  if (event.work == WorkTime::pending) details["time on device"] = "not known yet";
  if (event.work == WorkTime::lost) details["time on device"] = "not known";
  return ",\n{\"ph\":\"X\",\"name\":" + text_of(of.op) + ",\"cat\":\"" + category(of) +
         "\",\"ts\":" + microseconds(from) + ",\"dur\":" + microseconds(to - from) +
         ",\"pid\":" + std::to_string(process) + ",\"tid\":" + std::to_string(event.thread) +
         ",\"args\":" + text_of(details) + "}";
}

std::string chrome_trace_device_event(const ProfileEvent& event, const ProfileClass& of, int process) {
  return ",\n{\"ph\":\"X\",\"name\":" + text_of(of.op) + ",\"cat\":\"" + category(of) +
         "\",\"ts\":" + microseconds(event.work_start) + ",\"dur\":" + microseconds(event.work_duration) +
         ",\"pid\":" + std::to_string(process) + ",\"tid\":" + track_of(event.gpu, event.thread) +
         ",\"args\":" + text_of(json{{"record", event.number}}) + "}";
}

std::string chrome_trace_tail(std::span<const std::uint16_t> threads,
                              std::span<const ProfileIndex::DeviceLaneKey> devices, int process) {
  std::string text;
  for (const std::uint16_t thread : threads)
    text += title_of_track(track_of(0, thread), "thread " + std::to_string(thread), process);
  for (const auto& [gpu, thread] : devices)
    text += title_of_track(track_of(gpu, thread),
                           device_text(gpu) + ", from thread " + std::to_string(thread), process);
  return text + "\n]}\n";
}

}  // namespace tapedeck::debug
