// Shared by the fuzzers. Each passes libFuzzer's bytes to parsers. Bugs are found by the sanitizers, by
// expect(), and by the time and memory limits that tests/fuzz/run sets per input.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace fuzz {

using Bytes = std::span<const std::uint8_t>;

inline std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Aborts if `holds` is false, so that libFuzzer keeps the input.
inline void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "Expected: %s\n", what);
  std::abort();
}

/// Calls `work`; an `Error` is a valid result.
template <class Error, class Work>
void may_refuse(Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    expect(error.what()[0] != '\0', "a refusal says why");
  }
}

/// A file for readers that take a path, in memory if the system has such a folder.
class File {
 public:
  File() {
    const int descriptor = ::mkstemp(path_.data());
    if (descriptor < 0) throw std::runtime_error("no file can be made as " + path_);
    ::close(descriptor);
  }
  ~File() { ::unlink(path_.c_str()); }
  File(const File&) = delete;

  const std::string& path() const { return path_; }
  void write(std::string_view bytes) const {
    std::FILE* const file = std::fopen(path_.c_str(), "wb");
    const bool written = file && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
    if (!file || std::fclose(file) != 0 || !written) throw std::runtime_error(path_ + " cannot be written");
  }

 private:
  std::string path_ =
      std::string(::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp") + "/tapedeck_fuzz_XXXXXX";
};

/// One of the fuzzers' parsers; any exception is a finding.
void parse(Bytes bytes);

}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::parse({data, size});
  return 0;
}
