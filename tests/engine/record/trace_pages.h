// The pages of a trace file, to be damaged, and the requests of views on the result.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "engine/debug/answers.h"
#include "engine/record/trace_file/bytes.h"
#include "engine/record/trace_file/database.h"

namespace traced {

using namespace tapedeck;

using Generator = std::mt19937_64;

/// From 0 to `most`.
inline std::size_t pick(Generator& random, std::size_t most) {
  return std::uniform_int_distribution<std::size_t>(0, most)(random);
}

struct TracePage {
  std::int64_t row = 0;
  std::string section;  ///< empty: the first part of a value, of the tensor `number`
  std::uint64_t number = 0;
  std::vector<std::uint8_t> data;
};

inline std::vector<TracePage> pages_of(const std::string& path) {
  std::vector<TracePage> pages;
  auto database = trace_file::Database::open(path);
  const auto add = [&](trace_file::Statement& row, const std::string& section) {
    const auto data = row.blob(3);
    pages.push_back(
        {row.integer(0), section, static_cast<std::uint64_t>(row.integer(2)), {data.begin(), data.end()}});
  };
  auto rows = database.prepare("SELECT rowid, section, number, data FROM pages");
  while (rows.step()) add(rows, rows.text(1));
  auto parts = database.prepare("SELECT rowid, part, tensor, data FROM value_parts");
  while (parts.step()) add(parts, "");
  return pages;
}

/// Replaces the page in its row, with its checksum; to be followed by make_sums_right().
inline void write_page(trace_file::Database& database, const TracePage& page) {
  const bool is_value = page.section.empty();
  auto statement = database.prepare(is_value ? "UPDATE value_parts SET data = ?, checksum = ? WHERE rowid = ?"
                                             : "UPDATE pages SET data = ?, checksum = ? WHERE rowid = ?");
  const std::uint64_t sum = is_value ? trace_file::part_checksum(page.number, 0, page.data)
                                     : trace_file::page_checksum(page.section, page.number, page.data);
  statement.bind(0, std::span<const std::uint8_t>(page.data)).bind(1, static_cast<std::int64_t>(sum));
  statement.bind(2, page.row).run();
}

/// Recomputes the file's checksums over all its pages and facts after a change.
inline void make_sums_right(trace_file::Database& database) {
  trace_file::PageSums sums;
  auto pages = database.prepare("SELECT section, number, checksum FROM pages");
  while (pages.step())
    sums[pages.text(0)][static_cast<std::uint64_t>(pages.integer(1))] =
        static_cast<std::uint64_t>(pages.integer(2));
  const auto set = [&](const char* name, std::uint64_t sum) {
    auto update = database.prepare("UPDATE about SET value = ? WHERE name = ?");
    update.bind(0, static_cast<std::int64_t>(sum)).bind(1, std::string_view(name)).run();
  };
  set("index_checksum", trace_file::index_checksum(sums));
  trace_file::PageWriter all;
  auto facts = database.prepare("SELECT name, value FROM about ORDER BY rowid");
  while (facts.step()) {
    if (facts.text(0) == "engine_version")
      all.text(facts.text(1));
    else if (facts.text(0) != "checksum")
      all.signed_number(facts.integer(1));
  }
  facts.reset();
  set("checksum", trace_file::page_checksum("about", 0, all.bytes()));
}

class Look {
 public:
  Look(Recorder& recorder, Generator& random) : recorder_(recorder), random_(random), answers_(recorder) {}

  /// Makes the requests of views.
  void ask() {
    const std::uint64_t newest = recorder_.trace().newest();
    const std::uint64_t record = pick(random_, static_cast<std::size_t>(newest)), tensor = any_tensor();
    protocol::GetTile tile;
    tile.tensor = tensor;
    tile.rows = tile.columns = 3;
    protocol::Why why;
    why.question = static_cast<decltype(why.question)>(
        pick(random_, protocol::names(decltype(why.question){}).size() - 1));
    why.tensor = tensor;
    why.record = record;
    protocol::MakeBranch branch;
    branch.changes.resize(1);
    branch.changes[0].kind = static_cast<protocol::ChangeKind>(pick(random_, 6));
    branch.changes[0].tensor = tensor;
    branch.changes[0].record = record;
    branch.changes[0].numbers = {0.5};
    const protocol::Request requests[] = {
        tile,
        protocol::GetStatistics{tensor, 8},
        protocol::GetTape{1 + pick(random_, 20), {}, 50, record},
        protocol::GetVjp{record},
        protocol::ExplainElement{record, 0, {0}, 4},
        protocol::FindRecords{"matmul or shape:(12,5) or dtype:string", {}, 1, {}, {}},
        why,
        branch,
        protocol::GetTraceFile{},
        protocol::GetSource{"cell-1", ""}};
    for (int i = 0; i < 3; ++i) answer(requests[pick(random_, std::size(requests) - 1)]);
    answer(protocol::GetStatus{});
    answer(protocol::GetSeries{});
    answer(protocol::GetPictures{});
  }

  std::uint64_t any_tensor() {
    RecordView view;
    for (int tries = 0; tries < 20; ++tries) {
      const auto number = static_cast<std::uint32_t>(pick(random_, recorder_.trace().newest()));
      if (number && recorder_.trace().read(number, view) && !view.outputs.empty())
        return view.outputs[pick(random_, view.outputs.size() - 1)];
    }
    return 0;
  }

 private:
  void answer(const protocol::Request& request) {
    const auto answer = answers_.reply_or_work(request);
    const CancelFlag cancel{false};
    if (const auto* work = std::get_if<debug::Jobs::Work>(&answer))
      (*work)(cancel, [](const protocol::Progress&) {});
  }

  Recorder& recorder_;
  Generator& random_;
  debug::Answers answers_;
};

}  // namespace traced
