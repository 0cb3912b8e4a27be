// The stores beside records and values, as sections of a trace file. To add one, add a row to sections.cpp:
// its name, the function that writes its pages, and the one that loads a page.
#pragma once

#include <span>

#include "engine/record/recorder.h"
#include "engine/record/trace_file/bytes.h"
#include "engine/record/trace_file/numbering.h"

namespace tapedeck::trace_file {

/// The parameters for writing a section. Pages have at most about a megabyte; larger stores take several.
struct SectionOut {
  FileNumbers& numbers;         ///< for names, scopes, source lines, calls, specs, ops
  std::uint32_t newest_record;  ///< data of newer records is not written
  std::uint64_t newest_tensor;
  std::function<void(const PageWriter& page)> put;
};

struct SectionIn {
  const ProcessNumbers& numbers;
  std::uint32_t newest_record;
  std::uint64_t newest_tensor;
  std::uint32_t version;  ///< of the format
};

struct Section {
  const char* name;
  void (*save)(const Recorder& recorder, SectionOut& out);
  /// Loads one page; pages come in the order in which they were written. Checks everything and throws
  /// DamagedPage, which makes opening the file fail.
  void (*load)(Recorder& recorder, PageReader& page, const SectionIn& in);
};
std::span<const Section> sections();

// ---- helpers for writing sections

/// `each` writes one item to the page; full pages are put out.
template <class Items, class Each>
void put_items(SectionOut& out, const Items& items, Each&& each) {
  constexpr std::size_t page_bytes = std::size_t{1} << 20;
  PageWriter page;
  for (const auto& item : items) {
    each(page, item);
    if (page.size() < page_bytes) continue;
    out.put(page);
    page.clear();
  }
  if (page.size() > 0) out.put(page);
}

inline std::uint32_t record_up_to(PageReader& page, const SectionIn& in) {
  return static_cast<std::uint32_t>(page.number_up_to(in.newest_record, "a record's number"));
}

}  // namespace tapedeck::trace_file
