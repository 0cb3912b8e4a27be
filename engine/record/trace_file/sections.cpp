#include "engine/record/trace_file/sections.h"

#include <algorithm>
#include <cmath>

#include "engine/record/trace_file/run_sections.h"

namespace tapedeck::trace_file {
namespace {

std::uint64_t tensor_up_to(PageReader& page, const SectionIn& in) {
  return page.number_up_to(in.newest_tensor, "a tensor's id");
}

// ---- curves: each page first describes the curves, then lists points and restarts; also points that
// restarts invalidated, which belong to earlier runs of their cells

void write_info(PageWriter& page, const protocol::CurveInfo& curve) {
  page.text(curve.name);
  page.text(curve.cell);
  page.number(curve.execution);
  page.text(curve.x);
}

protocol::CurveInfo read_info(PageReader& page, const SectionIn& in) {
  protocol::CurveInfo curve;
  curve.name = page.text("a curve's name");
  curve.x = "step";
  if (in.version < 2) return curve;
  curve.cell = page.text("a cell's id");
  curve.execution = page.number_up_to(UINT32_MAX, "an execution's number");
  curve.x = page.text("what a curve's steps are");
  return curve;
}

void save_series(const Recorder& recorder, SectionOut& out) {
  const SeriesStore& series = recorder.series();
  for (std::uint64_t at = 0, size = series.size(); at < size;) {
    const std::vector<SeriesStore::Kept> part = series.kept(at, size);
    PageWriter page;
    page.number(at >= size ? series.thinned() : 0);
    std::unordered_map<std::string_view, std::size_t> names;
    for (const auto& [point, restart] : part) {
      const auto [known, is_new] = names.try_emplace(point.series, names.size());
      page.number(known->second);
      if (is_new) write_info(page, series.info(point.series).value_or(protocol::CurveInfo{}));
      page.byte(restart ? 1 : 0);
      if (restart) continue;
      page.real(point.step);
      page.real(point.value);
      page.number(std::min<std::uint64_t>(point.record, out.newest_record));
    }
    out.put(page);
  }
}

void load_series(Recorder& recorder, PageReader& page, const SectionIn& in) {
  const std::uint64_t thinned = page.number();
  std::vector<protocol::CurveInfo> curves;
  while (page.left() > 0) {
    const std::uint64_t curve = page.number_up_to(curves.size(), "a curve");
    if (curve == curves.size()) curves.push_back(read_info(page, in));
    const bool restart = page.number_up_to(1, "whether a curve begins anew") != 0;
    protocol::SeriesPoint point;
    if (!restart) {
      point.step = page.real();
      point.value = page.real();
      point.record = record_up_to(page, in);
    }
    recorder.series().restore(curves[curve], point, restart);
  }
  recorder.series().restore_thinned(thinned);
}

// ---- histograms and images

void write_reals(PageWriter& page, const std::vector<double>& values) {
  page.number(values.size());
  for (const double value : values) page.real(value);
}

std::vector<double> read_reals(PageReader& page) {
  std::vector<double> values(page.number_up_to(page.left() / sizeof(double), "a list's length"));
  for (double& value : values) value = page.real();
  return values;
}

void save_pictures(const Recorder& recorder, SectionOut& out) {
  const PictureStore& store = recorder.pictures();
  for (std::uint64_t at = 0, size = store.size(); at < size;) {
    const protocol::Pictures part = store.read(at);
    if (part.next <= at) break;
    at = part.next;
    put_items(out, part.pictures, [&](PageWriter& page, const protocol::Picture& picture) {
      page.text(picture.name);
      page.text(picture.cell);
      page.number(picture.execution);
      page.real(picture.step);
      page.number(std::min<std::uint64_t>(picture.record.value_or(0), out.newest_record));
      page.number(picture.number);
      write_reals(page, picture.limits);
      write_reals(page, picture.counts);
      page.number(picture.not_finite);
      page.number(static_cast<std::uint64_t>(picture.width));
      page.number(static_cast<std::uint64_t>(picture.height));
      page.number(picture.pngs.size());
      for (const std::string& png : picture.pngs) page.text(png);
    });
  }
}

/// Checks a picture as the store requires it.
void check_picture(const protocol::Picture& picture) {
  const std::size_t due = picture.counts.empty() ? 0 : picture.counts.size() + 1;
  bool sound = picture.limits.size() == due;
  for (std::size_t i = 1; i < picture.limits.size(); ++i)
    sound = sound && picture.limits[i - 1] <= picture.limits[i] &&
            std::isfinite(picture.limits[i] - picture.limits[i - 1]);
  const bool images = !picture.pngs.empty();
  sound = sound && (images ? picture.width > 0 && picture.height > 0 && due == 0
                           : picture.width >= 0 && picture.height >= 0);
  if (!sound) throw DamagedPage("the picture '" + picture.name + "' is neither a histogram nor images");
}

void load_pictures(Recorder& recorder, PageReader& page, const SectionIn& in) {
  while (page.left() > 0) {
    protocol::Picture picture;
    picture.name = page.text("a picture's name");
    if (in.version >= 2) {
      picture.cell = page.text("a cell's id");
      picture.execution = page.number_up_to(UINT32_MAX, "an execution's number");
    }
    picture.step = page.real();
    picture.record = protocol::if_there(record_up_to(page, in));
    picture.number = page.number();
    picture.limits = read_reals(page);
    picture.counts = read_reals(page);
    picture.not_finite = page.number();
    picture.width = static_cast<std::int64_t>(page.number_up_to(UINT32_MAX, "a width"));
    picture.height = static_cast<std::int64_t>(page.number_up_to(UINT32_MAX, "a height"));
    const std::size_t pngs = page.count("images");
    for (std::size_t i = 0; i < pngs; ++i) picture.pngs.emplace_back(page.text("an image"));
    check_picture(picture);
    recorder.pictures().restore(std::move(picture));
  }
}

// ---- assignments, external reads, and the requests of playbacks

void save_assignments(const Recorder& recorder, SectionOut& out) {
  PageWriter first;
  first.number(recorder.data_flow().newest_forgotten());
  out.put(first);
  std::vector<Assignment> assignments = recorder.data_flow().assignments();
  std::erase_if(assignments, [&](const Assignment& one) { return one.leaf > out.newest_tensor; });
  put_items(out, assignments, [&](PageWriter& page, const Assignment& assignment) {
    page.number(assignment.leaf);
    page.number(std::min(assignment.value, assignment.leaf));
    page.number(assignment.variable);
    page.number(assignment.since);
    page.number(out.numbers.locations.of(assignment.location));
    page.number(std::min(assignment.after, out.newest_record));
  });
}

void load_assignments(Recorder& recorder, PageReader& page, const SectionIn& in) {
  const std::uint64_t begin = page.number();
  if (page.left() == 0) return recorder.data_flow().restore_newest_forgotten(begin);
  for (std::uint64_t leaf = begin;; leaf = page.number()) {
    Assignment assignment;
    assignment.leaf = leaf;
    assignment.value = page.number();
    assignment.variable = page.number();
    assignment.since = page.number();
    assignment.location = in_process(in.numbers.locations, page.number(), "source line");
    assignment.after = record_up_to(page, in);
    if (assignment.value > leaf) throw DamagedPage("a variable was given a value that is newer than its own");
    recorder.data_flow().add(assignment);
    if (page.left() == 0) return;
  }
}

void save_external_reads(const Recorder& recorder, SectionOut& out) {
  std::vector<ExternalRead> oldest_first = recorder.data_flow().external_reads();
  std::erase_if(oldest_first, [&](const ExternalRead& one) { return one.tensor > out.newest_tensor; });
  std::reverse(oldest_first.begin(), oldest_first.end());
  put_items(out, oldest_first, [&](PageWriter& page, const ExternalRead& external_read) {
    page.number(external_read.tensor);
    page.number(external_read.newest);
    page.number(out.numbers.locations.of(external_read.location));
  });
}

void load_external_reads(Recorder& recorder, PageReader& page, const SectionIn& in) {
  while (page.left() > 0) {
    ExternalRead external_read;
    external_read.tensor = page.number();
    external_read.newest = page.number();
    external_read.location = in_process(in.numbers.locations, page.number(), "source line");
    recorder.data_flow().add(external_read);
  }
}

void save_asked(const Recorder& recorder, SectionOut& out) {
  std::vector<RequestedGradients> asked = recorder.data_flow().gradient_requests();
  std::erase_if(asked, [&](const RequestedGradients& one) { return one.playback > out.newest_record; });
  put_items(out, asked, [](PageWriter& page, const RequestedGradients& one) {
    page.number(one.playback);
    page.number(one.sources.size());
    for (const std::uint64_t source : one.sources) page.number(source);
  });
}

void load_asked(Recorder& recorder, PageReader& page, const SectionIn& in) {
  while (page.left() > 0) {
    RequestedGradients asked;
    asked.playback = record_up_to(page, in);
    asked.sources.resize(page.count("sources"));
    for (std::uint64_t& source : asked.sources) source = tensor_up_to(page, in);
    recorder.data_flow().add(std::move(asked));
  }
}

// ---- statistics of dropped leaves

void save_dropped(const Recorder& recorder, SectionOut& out) {
  PageWriter first;
  first.number(recorder.values().leaves_dropped());
  out.put(first);
  put_items(out, recorder.values().dropped(), [](PageWriter& page, const auto& one) {
    const auto& [id, summary] = one;
    page.number(id);
    for (const std::uint64_t number :
         {summary.count, summary.finite, summary.zeros, summary.nan, summary.positive_infinity,
          summary.negative_infinity, summary.subnormals})
      page.number(number);
    for (const double number : {summary.minimum, summary.maximum, summary.mean, summary.deviation})
      page.real(number);
    page.number(summary.histogram.size());
    for (const std::uint64_t bin : summary.histogram) page.number(bin);
  });
}

void load_dropped(Recorder& recorder, PageReader& page, const SectionIn&) {
  const std::uint64_t begin = page.number();
  if (page.left() == 0) return recorder.values().restore_leaves_dropped(begin);
  for (std::uint64_t id = begin;; id = page.number()) {
    Summary summary;
    for (std::uint64_t* number :
         {&summary.count, &summary.finite, &summary.zeros, &summary.nan, &summary.positive_infinity,
          &summary.negative_infinity, &summary.subnormals})
      *number = page.number();
    for (double* number : {&summary.minimum, &summary.maximum, &summary.mean, &summary.deviation})
      *number = page.real();
    summary.histogram.resize(page.count("bins"));
    for (std::uint64_t& bin : summary.histogram) bin = page.number();
    recorder.values().restore_dropped(id, summary);
    if (page.left() == 0) return;
  }
}

constexpr Section all_sections[] = {
    {"series", save_series, load_series},
    {"pictures", save_pictures, load_pictures},
    {"assignments", save_assignments, load_assignments},
    {"departures", save_external_reads, load_external_reads},
    {"asked", save_asked, load_asked},
    {"dropped", save_dropped, load_dropped},
    {"cell_runs", save_cell_runs, load_cell_runs},
    {"gate_waits", save_gate_waits, load_gate_waits},
    {"memory_log", save_memory_log, load_memory_log},
    {"health", save_health, load_health},
};

}  // namespace

std::span<const Section> sections() {
  return all_sections;
}

}  // namespace tapedeck::trace_file
