// Trace files: as bytes, and with one page or fact changed whose checksums are made right again. What opens
// is asked what views ask.
//
// Input: 0 and a whole file; or 1, the page's place among all (2 bytes, little-endian) and its bytes; or 2
// and pairs of a fact's place and its value (8 bytes).
#include <cstring>
#include <fstream>
#include <iterator>

#include "engine/record/replay/replay.h"
#include "engine/record/trace_file/open.h"
#include "tests/engine/record/trace_pages.h"
#include "tests/fuzz/fuzz.h"

using namespace tapedeck;
using namespace traced;

namespace {

constexpr const char* facts[] = {"newest_record", "oldest_record", "newest_tensor",   "oldest_tensor",
                                 "records_ended", "cells_ended",   "started_unix_ms", "saved_unix_ms"};

struct Original {
  const std::string path = TAPEDECK_FUZZ_SEEDS "/whole.tapetrace";
  const std::vector<TracePage> pages = pages_of(path);
  const std::string bytes = [this] {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
};

template <class Number>
Number take(fuzz::Bytes& bytes) {
  Number number = 0;
  std::memcpy(&number, bytes.data(), std::min(sizeof number, bytes.size()));
  bytes = bytes.subspan(std::min(sizeof number, bytes.size()));
  return number;
}

void write_damaged(const std::string& path, const Original& original, bool one_page, fuzz::Bytes bytes) {
  auto database = trace_file::Database::create(path);
  if (one_page) {
    TracePage page = original.pages[take<std::uint16_t>(bytes) % original.pages.size()];
    page.data.assign(bytes.begin(), bytes.end());
    write_page(database, page);
  }
  while (!one_page && !bytes.empty()) {
    const char* const fact = facts[take<std::uint8_t>(bytes) % std::size(facts)];
    auto change = database.prepare("UPDATE about SET value = ? WHERE name = ?");
    change.bind(0, take<std::int64_t>(bytes)).bind(1, std::string_view(fact)).run();
  }
  make_sums_right(database);
}

void look_at(Recorder& file, Generator& random) {
  const auto newest = std::min<std::uint32_t>(file.trace().newest(), 2000);
  for (std::uint32_t number = 1; number <= newest; ++number) debug::describe(file, number, true);
  Look look(file, random);
  try {
    find_value(file, look.any_tensor(), ReplayLimits{std::uint64_t{64} << 20});
  } catch (const ValueError&) {
  }
  if (pick(random, 3) == 0) look.ask();
}

}  // namespace

void fuzz::parse(Bytes bytes) {
  static const Original original;
  static const File file;
  if (bytes.empty()) return;
  Generator random(bytes.size() * 7 + bytes.back());
  const std::uint8_t kind = take<std::uint8_t>(bytes) % 3;
  if (kind == 0) {
    file.write(text_of(bytes));
  } else {
    file.write(original.bytes);
    write_damaged(file.path(), original, kind == 1, bytes);
  }
  may_refuse<trace_file::TraceFileError>([&] { look_at(*trace_file::open(file.path()), random); });
}
