// tapedeck-trace FILE --endpoint ipc:///FOLDER/NAME --key-file KEY: serves a trace file as
// engine/protocol/README.md says. It runs no code but the engine's ops.
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <unordered_set>

#include "engine/backend/devices.h"
#include "engine/debug/compare/comparisons.h"
#include "engine/debug/compare/tensor_file.h"
#include "engine/debug/server.h"
#include "engine/ops/core/op.h"
#include "engine/record/replay/replay.h"
#include "engine/record/trace_file/open.h"
#include "engine/record/trace_file/save.h"

namespace {

constexpr const char* usage =
    "tapedeck-trace FILE --endpoint ipc:///FOLDER/NAME --key-file KEY\n"
    "tapedeck-trace FILE --check\n"
    "tapedeck-trace FILE --compare OTHER [--names MAP]\n"
    "    Status 0: each weight has a counterpart, and nothing that was compared differs. 1: something "
    "differs.\n"
    "    2: an error. 3: nothing differs, but not enough could be compared: the last line says what is "
    "missing.";

struct Arguments {
  std::string file, endpoint, key_file;
  std::string other, names;  ///< compares the layers of both
  bool check = false;        ///< reads the whole file, and reports damage
  bool help = false;
};

std::optional<Arguments> read_arguments(int count, char** texts) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string text = texts[i];
    std::string* target = text == "--endpoint"   ? &arguments.endpoint
                          : text == "--key-file" ? &arguments.key_file
                          : text == "--compare"  ? &arguments.other
                          : text == "--names"    ? &arguments.names
                                                 : nullptr;
    if (target) {
      if (++i == count) return std::nullopt;
      *target = texts[i];
    } else if (text == "--help") {
      arguments.help = true;
    } else if (text == "--check") {
      arguments.check = true;
    } else if (arguments.file.empty() && !text.starts_with("--")) {
      arguments.file = text;
    } else {
      return std::nullopt;
    }
  }
  if (arguments.help) return arguments;
  const bool serves = !arguments.endpoint.empty() && !arguments.key_file.empty();
  if (arguments.file.empty() || serves + arguments.check + !arguments.other.empty() != 1) return std::nullopt;
  if (!arguments.names.empty() && arguments.other.empty()) return std::nullopt;
  return arguments;
}

std::string read_text(const char* what, const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(stream)), {});
  if (!stream.is_open() || stream.bad())
    throw std::runtime_error("The " + std::string(what) + " " + path +
                             " cannot be read: " + std::strerror(errno) + ".");
  return text;
}

/// A file of tensors becomes a trace, in a file of its own while this process lives.
class OpenedFile {
 public:
  explicit OpenedFile(const std::string& path) {
    if (tapedeck::debug::is_tensor_file(path)) {
      const auto tensors = tapedeck::debug::open_tensor_file(path);
      const char* folder = std::getenv("TMPDIR");
      temporary_ = std::string(folder && *folder ? folder : "/tmp") + "/tapedeck-tensors-XXXXXX";
      const int descriptor = ::mkstemp(temporary_.data());
      if (descriptor < 0)
        throw std::runtime_error("No file can be made as " + temporary_ + ": " + std::strerror(errno) + ".");
      ::close(descriptor);
      tapedeck::protocol::SaveTrace request;
      request.path = temporary_;
      tapedeck::trace_file::save(*tensors, request);
    }
    recorder = tapedeck::trace_file::open(temporary_.empty() ? path : temporary_);
  }
  ~OpenedFile() {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }
  OpenedFile(const OpenedFile&) = delete;

  std::shared_ptr<tapedeck::Recorder> recorder;

 private:
  std::string temporary_;
};

/// What `diff` returns, and another one for a comparison that says too little.
enum CompareStatus { all_agree = 0, one_differs = 1, compare_failed = 2, incomplete = 3 };

/// "agrees after transposing the axes 1, 0", "DIFFERS, by up to 0.5 (relative 0.1)".
void print_verdict(const tapedeck::protocol::ComparedOperand& one) {
  using tapedeck::protocol::Agreement;
  const char* layout = one.layout ? one.layout->c_str() : "";
  if (one.values == Agreement::agree) {
    std::printf("agrees%s%s", *layout ? " " : "", layout);
  } else if (one.values == Agreement::differ && one.count > 0) {
    std::printf("DIFFERS, by up to %.3g (relative %.3g)%s%s", one.max_absolute, one.max_relative,
                *layout ? ", " : "", layout);
  } else {
    std::printf("%s%s%s", one.values == Agreement::differ ? "DIFFERS" : "not compared",
                one.problem ? ": " : "", one.problem.value_or("").c_str());
  }
}

/// Prints what the layers of both files have in common.
CompareStatus compare(tapedeck::Recorder& recorder, const Arguments& arguments) {
  using namespace tapedeck;
  constexpr double relative = 1e-4, absolute = 1e-5;
  debug::Branches branches(recorder);
  debug::Comparisons comparisons(recorder, branches);
  CancelFlag cancel{false};
  protocol::MakeComparison make;
  make.right.path = arguments.other;
  make.names = arguments.names.empty() ? std::string() : read_text("name map", arguments.names);
  const protocol::Compared compared = comparisons.make(make, cancel, {});
  std::printf("%s\n", compared.sentence.c_str());
  const auto find = [&](std::uint64_t id) { return find_value(recorder, id).value; };
  const protocol::ComparedLayers layers =
      comparisons.layers({compared.comparison, relative, absolute, {}}, find, cancel, {});
  for (const protocol::ComparedLayer& layer : layers.layers)
    for (const protocol::ComparedLayerPart& part : layer.parts) {
      std::printf("%s | %s: %s: ", layer.left.value_or("").c_str(), layer.right.value_or("").c_str(),
                  part.tensors.role.c_str());
      print_verdict(part.tensors);
      std::printf("\n");
    }
  std::printf("%s\n", layers.sentence.c_str());
  return layers.first ? one_differs : layers.complete ? all_agree : incomplete;
}

/// Reads every record and every value; returns the exit status.
int check(tapedeck::Recorder& recorder) {
  using namespace tapedeck;
  const Trace& trace = recorder.trace();
  std::uint64_t records = 0, values = 0;
  RecordView record;
  std::unordered_set<std::uint64_t> seen;
  for (std::uint32_t number = trace.oldest_kept(); number <= trace.newest(); ++number) {
    records += trace.read(number, record);
    for (const TensorIds* ids : {&record.inputs, &record.outputs})
      for (const std::uint64_t id : *ids)
        if (trace.tensors().get(id).stored() && seen.insert(id).second)
          values += !!recorder.values().held(id);
  }
  const std::string problem = recorder.file()->problem();
  std::printf("%llu records, %llu values%s%s\n", static_cast<unsigned long long>(records),
              static_cast<unsigned long long>(values), problem.empty() ? "" : ". ", problem.c_str());
  return problem.empty() ? 0 : 1;
}

/// A damaged file may request ops on tensors of any size: these fail with an error instead of exhausting the
/// machine. The address space is not limited: CUDA reserves more of it than there is memory. The sanitizers'
/// own memory counts as data.
void bound_memory() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  constexpr rlim_t least = rlim_t{8} << 30;
  const auto pages = static_cast<rlim_t>(std::max(0L, ::sysconf(_SC_PHYS_PAGES)));
  const rlim_t bound = std::max(least, pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) / 4 * 3);
  rlimit limit{};
  if (::getrlimit(RLIMIT_DATA, &limit) != 0) return;
  limit.rlim_cur = std::min(limit.rlim_max, bound);
  ::setrlimit(RLIMIT_DATA, &limit);
#endif
}

/// Serves until its parent closes its standard input, or its client is gone: one that reconnects within a
/// second finds it still there.
void wait_for_the_end(const tapedeck::debug::DebugServer& server) {
  using Clock = std::chrono::steady_clock;
  constexpr auto patience = std::chrono::seconds(1);
  auto last_seen = Clock::now();
  while (true) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (::poll(&input, 1, 100) > 0) {
      char bytes[256];
      const ssize_t got = ::read(STDIN_FILENO, bytes, sizeof(bytes));
      if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) return;
    }
    if (server.clients() > 0 || !server.had_clients()) last_seen = Clock::now();
    if (Clock::now() - last_seen > patience) return;
  }
}

}  // namespace

int main(int count, char** texts) {
  std::signal(SIGPIPE, SIG_IGN);
  const std::optional<Arguments> arguments = read_arguments(count, texts);
  if (!arguments) {
    std::fprintf(stderr, "%s\n", usage);
    return 2;
  }
  if (arguments->help) {
    std::printf("%s\n", usage);
    return 0;
  }
  try {
    bound_memory();
    const OpenedFile opened(arguments->file);
    const auto& recorder = opened.recorder;
    if (!arguments->other.empty()) return compare(*recorder, *arguments);
    if (arguments->check) return check(*recorder);
    // Ops run again on the device where they ran, if that GPU exists; starting CUDA takes a while.
    if (recorder->file()->mentions_gpus()) tapedeck::load_gpus();
    const std::string key = read_text("key file", arguments->key_file);
    const tapedeck::debug::DebugServer server(*recorder, arguments->endpoint, key);
    std::puts("ready");
    std::fflush(stdout);
    wait_for_the_end(server);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return arguments->other.empty() ? 1 : compare_failed;
  }
  return 0;
}
