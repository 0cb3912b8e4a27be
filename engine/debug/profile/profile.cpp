#include "engine/debug/profile/profile.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "engine/debug/profile/chrome_trace.h"
#include "engine/debug/tile.h"
#include "engine/record/trace/clock.h"

namespace tapedeck::debug {
namespace {

constexpr std::chrono::milliseconds time_at_once(40);
constexpr std::int64_t longest_time = std::int64_t{1} << 60;  // nanoseconds
constexpr std::uint32_t most_pixels = 10'000, most_totals = 1000, most_step_points = 10'000;
constexpr std::size_t most_pauses = 10'000;
constexpr std::size_t most_flame_nodes = 2000, most_runs = 1000, most_slowest = 10;
constexpr std::uint32_t records_a_piece = 4096, records_a_slice = 1 << 14;

}  // namespace

std::unique_lock<std::mutex> Profiles::advance(const CancelFlag& cancel) {
  std::unique_lock lock(mutex_);
  check_cancelled(&cancel);
  recorder_.collect_device_times();
  const std::uint32_t newest = events_.newest();
  tell_pauses();
  const auto until = std::chrono::steady_clock::now() + time_at_once;
  std::uint32_t to = 0;
  do {
    to = newest - std::min(newest, index_.indexed()) > records_a_slice ? index_.indexed() + records_a_slice
                                                                       : newest;
    steps_.extend(&cancel, to);  // before the index passes their updates
    index_.advance(until, to);
  } while (to < newest && index_.indexed() == to && std::chrono::steady_clock::now() < until);
  return lock;
}

void Profiles::tell_update(std::size_t step, std::uint32_t record) {
  const auto number = static_cast<std::uint32_t>(step);
  if (steps_.at(step).cut) index_.cut_steps(steps_.at(step).playback);
  index_.add_update(number, record);
}

// Between the end of one run and the start of the next nothing of the program runs; what happened while
// nothing was recorded is unknown.
void Profiles::tell_pauses() {
  Intervals& cells = index_.pauses().cells;
  for (const auto& [from, to] : recorder_.unrecorded(unrecorded_seen_)) {
    ++unrecorded_seen_;
    if (!idle_) cells.add({from, to});
  }
  const std::uint64_t again = runs_seen_ > 0 ? 1 : 0;  // the last one may have ended since
  std::uint64_t total = 0;
  std::vector<CellRun> runs;
  do {
    total = recorder_.cell_runs().total();
    runs = recorder_.cell_runs().newest(total - runs_seen_ + again);
  } while (recorder_.cell_runs().total() != total);  // another one began meanwhile
  for (const CellRun& run : runs) {
    if (run.number > runs_seen_) {
      if (idle_)
        cells.set_last_end(std::max(run.start, cells.all().back().from));
      else
        cells.add({cell_runs_.empty() ? 0 : cell_runs_.back().end, run.start});
      idle_ = false;
      cell_runs_.push_back(run);
      if (cell_runs_.size() > 2 * most_runs)
        cell_runs_.erase(cell_runs_.begin(), cell_runs_.begin() + most_runs);
    }
    cell_runs_.back() = run;
    runs_seen_ = run.number;
    if (run.state == CellRun::State::running || idle_) continue;
    cells.add({run.end, INT64_MAX});
    idle_ = true;
  }
  // A wait that is added from here on is read again next time.
  const std::uint64_t waits = recorder_.gate_waits().total();
  for (const GateWait& wait : recorder_.gate_waits().since(waits_seen_))
    index_.pauses().gate[wait.thread].add({clock::nanoseconds(wait.from), clock::nanoseconds(wait.to)});
  waits_seen_ = waits;
  index_.pauses().waiting.clear();
  for (const auto& [thread, from] : recorder_.gate_waits().waiting())
    index_.pauses().waiting[thread] = clock::nanoseconds(from);
}

protocol::Peaks Profiles::peaks() const {
  const std::lock_guard lock(peaks_mutex_);
  return peaks_;
}

std::int64_t Profiles::horizon() const {
  const bool goes_on = recorder_.recording() && (cell_runs_.empty() || !idle_);
  std::int64_t last = index_.last();
  if (goes_on)
    for (const auto& [lane, box] : index_.open(recorder_.now_ns())) last = std::max(last, box.to);
  return last + 1;
}

std::vector<protocol::ProfileRun> Profiles::runs() const {
  std::vector<protocol::ProfileRun> runs;
  const auto paused = [this](std::int64_t from, std::int64_t to) {
    std::int64_t longest = 0;
    const Pauses& pauses = index_.pauses();
    for (const auto& [thread, waits] : pauses.gate)
      longest = std::max(longest, pauses.gate_within(thread, from, to));
    for (const auto& [thread, since] : pauses.waiting)
      longest = std::max(longest, pauses.gate_within(thread, from, to));
    return longest;
  };
  if (cell_runs_.empty() && index_.indexed() > 0)
    runs.push_back(
        {{}, {}, 0, index_.first(), horizon(), paused(index_.first(), horizon()), index_.indexed(), false});
  const std::size_t skip = cell_runs_.size() > most_runs ? cell_runs_.size() - most_runs : 0;
  for (std::size_t i = skip; i < cell_runs_.size(); ++i) {
    const CellRun& run = cell_runs_[i];
    const bool running = run.state == CellRun::State::running;
    const std::int64_t end = running ? std::max(run.start, recorder_.now_ns()) : run.end;
    const std::uint32_t last = running ? events_.newest() : run.last;
    runs.push_back({run.number, protocol::if_there(run.cell), run.execution, run.start, end,
                    paused(run.start, end), last >= run.first ? last - run.first + 1 : 0, running});
  }
  return runs;
}

std::uint64_t Profiles::number_in_run(const StepTime& step) const {
  const auto run = std::ranges::upper_bound(cell_runs_, step.to, {}, &CellRun::start);
  const std::int64_t begin = run == cell_runs_.begin() ? INT64_MIN : std::prev(run)->start;
  const auto& steps = index_.steps();
  const auto first = std::ranges::find_if(steps, [begin](const StepTime& one) { return one.to > begin; });
  return first == steps.end() ? step.number : step.number - std::min(first->number, step.number) + 1;
}

template <class Reply>
Reply Profiles::begun() {
  Reply reply;
  reply.indexed = index_.indexed();
  reply.total = events_.newest();
  return reply;
}

Profiles::Span Profiles::span_of(std::int64_t from, std::optional<std::int64_t> to) const {
  const Span span{std::clamp(from, -longest_time, longest_time),
                  std::clamp(to.value_or(horizon()), -longest_time, longest_time)};
  if (span.from > span.to) throw BadRequest("profile: the span ends before it begins");
  return span;
}

protocol::Reply Profiles::answer(const protocol::GetProfile& asked, const CancelFlag& cancel) {
  const auto lock = advance(cancel);
  const Span span = span_of(asked.from_ns, asked.to_ns);
  const std::int64_t from = span.from, to = span.to;
  auto reply = begun<protocol::Profile>();
  reply.first_ns = index_.first();
  reply.last_ns = horizon();
  reply.from_ns = from;
  reply.to_ns = to;
  const Sums sums = index_.sums(from, to);
  const std::uint16_t thread = busiest_thread(sums);
  reply.thread = thread;
  ThreadSums mine;
  if (const auto found = sums.threads.find(thread); found != sums.threads.end()) mine = found->second;
  const auto part = [&](ProfileRole role) { return mine.by_role[static_cast<std::size_t>(role)]; };
  reply.forward_ns = part(ProfileRole::forward) + part(ProfileRole::custom);
  reply.backward_ns = part(ProfileRole::backward);
  reply.update_ns = part(ProfileRole::update);
  reply.run_ns = reply.forward_ns + reply.backward_ns + reply.update_ns + mine.gaps;
  reply.python_ns = mine.gaps;
  for (std::size_t i = 0; i < sums.kinds.size(); ++i) {
    const ProfileClass& of = events_.classes().at(sums.kinds[i]);
    if (!of.user_gradient) continue;
    const std::int64_t self = sums.sums[i].self;
    reply.python_ns += self;
    (of.role == ProfileRole::backward ? reply.backward_ns : reply.forward_ns) -= self;
  }
  reply.calls = mine.calls;
  for (const auto& [index, waits] : index_.pauses().gate) reply.gate_ns += waits.within(from, to);
  const Intervals& waits = index_.pauses().at_gate(thread);
  for (auto at = waits.from(from);
       at != waits.all().end() && at->from < to && reply.pauses.size() < most_pauses; ++at)
    reply.pauses.push_back({true, thread, std::max(at->from, from), std::min(at->to, to)});
  std::vector<std::int64_t> durations;
  const StepTime* slowest = nullptr;
  for (const StepTime& step : index_.steps()) {
    if (step.to <= from || step.to > to) continue;
    durations.push_back(step.duration);
    if (step.duration <= reply.step_max_ns && slowest) continue;
    reply.step_max_ns = step.duration;
    slowest = &step;
  }
  if (slowest) reply.slowest_step = number_in_run(*slowest);
  reply.steps = durations.size();
  if (!durations.empty()) {
    const auto middle = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 2);
    std::nth_element(durations.begin(), middle, durations.end());
    reply.step_median_ns = *middle;
  }
  reply.gaps = profile_gaps(sums, events_.classes(), texts_, thread);
  if (reply.gaps.size() > asked.gaps) reply.gaps.resize(asked.gaps);
  reply.runs = runs();
  for (const auto& [gpu, done] : sums.devices) {
    const auto of_role = [&of = done](ProfileRole role) {
      return of.by_role[static_cast<std::size_t>(role)];
    };
    reply.devices.push_back({device_text(gpu), done.calls, done.pending, done.lost,
                             of_role(ProfileRole::forward) + of_role(ProfileRole::custom),
                             of_role(ProfileRole::backward), of_role(ProfileRole::update)});
  }
  return reply;
}

protocol::Reply Profiles::answer(const protocol::GetProfileTrack& asked, const CancelFlag& cancel) {
  if (asked.pixels == 0 || asked.pixels > most_pixels)
    throw BadRequest("get_profile_track: " + std::to_string(asked.pixels) + " pixels were asked for; 1 to " +
                     std::to_string(most_pixels) + " can be");
  const auto lock = advance(cancel);
  const Span span = span_of(asked.from_ns, asked.to_ns);
  const std::int64_t from = span.from, to = span.to;
  auto reply = begun<protocol::ProfileTrack>();
  reply.first_ns = index_.first();
  reply.last_ns = horizon();
  reply.from_ns = from;
  reply.to_ns = to;
  // Time at the gate has no boxes: the pixels are for the rest.
  std::int64_t paused = 0;
  for (const auto& [thread, waits] : index_.pauses().gate) paused = std::max(paused, waits.within(from, to));
  const double pixel = static_cast<double>(to - from - paused) / asked.pixels;
  /// The device's, none for the host, and the key of its lane.
  std::map<std::tuple<std::uint8_t, std::uint16_t, std::uint16_t>, std::vector<LaneBox>> boxes;
  for (const auto& [key, lane] : index_.lanes()) {
    check_cancelled(&cancel);
    auto found = index_.boxes(key, from, to, pixel);
    if (!found.empty()) boxes[{0, key.first, key.second}] = std::move(found);
  }
  for (const auto& [key, box] : index_.open(reply.last_ns))
    if (box.to > from && box.from < to) boxes[{0, key.first, key.second}].push_back(box);
  for (const auto& [key, lane] : index_.device_lanes()) {
    check_cancelled(&cancel);
    auto found = index_.device_boxes(key, from, to, pixel);
    if (!found.empty()) boxes[{key.first, key.second, 0}] = std::move(found);
  }
  std::map<std::pair<std::string, ProfileRole>, std::uint64_t> places;
  for (const auto& [key, found] : boxes) {
    protocol::ProfileLane& lane = reply.lanes.emplace_back();
    lane.device = protocol::if_there(device_text(std::get<0>(key)));
    lane.thread = std::get<1>(key);
    lane.depth = std::get<2>(key);
    for (const LaneBox& box : found) {
      lane.starts.push_back(static_cast<double>(box.from - from));
      lane.ends.push_back(static_cast<double>(box.to - from));
      lane.busy.push_back(static_cast<double>(box.busy));
      lane.records.push_back(box.record);
      lane.counts.push_back(box.count);
      std::uint32_t kind = 0;
      events_.visit(box.record, box.record, [&](const ProfileEvent& event) { kind = event.kind; });
      const ProfileClass& of = events_.classes().at(kind);
      const auto [place, is_new] = places.try_emplace({of.op, of.role}, reply.names.size());
      if (is_new) reply.names.push_back({of.op, of.role});
      lane.names.push_back(place->second);
    }
  }
  const auto add = [&](const Intervals& intervals, bool at_gate, std::uint16_t thread) {
    std::int64_t shown = INT64_MIN;  // those shorter than a pixel come as one a pixel
    for (auto at = intervals.from(from); at != intervals.all().end() && at->from < to; ++at) {
      if (static_cast<double>(at->to - std::max(at->from, shown)) < pixel && at->from < shown) continue;
      reply.pauses.push_back({at_gate, thread, std::max(at->from, from), std::min(at->to, to)});
      shown = std::min(at->to, to) + static_cast<std::int64_t>(pixel);
    }
  };
  add(index_.pauses().cells, false, 0);
  for (const auto& [thread, waits] : index_.pauses().gate) add(waits, true, thread);
  return reply;
}

protocol::Reply Profiles::answer(const protocol::GetProfileTotals& asked, const CancelFlag& cancel) {
  const protocol::Peaks peaks = this->peaks();
  const auto lock = advance(cancel);
  const Span span = span_of(asked.from_ns, asked.to_ns);
  const std::int64_t from = span.from, to = span.to;
  auto reply = begun<protocol::ProfileTotals>();
  const Sums sums = index_.sums(from, to);
  for (const ClassSums& one : sums.sums) reply.self_ns += one.self;
  auto rows = profile_rows(sums, events_.classes(), texts_, peaks, asked);
  reply.group = asked.group;
  reply.rows_total = rows.size();
  reply.first = asked.first;
  const std::size_t first = std::min<std::size_t>(asked.first, rows.size());
  const std::size_t last = std::min<std::size_t>(rows.size(), first + std::min(asked.count, most_totals));
  reply.rows.assign(std::make_move_iterator(rows.begin() + static_cast<std::ptrdiff_t>(first)),
                    std::make_move_iterator(rows.begin() + static_cast<std::ptrdiff_t>(last)));
  return reply;
}

protocol::Reply Profiles::answer(const protocol::GetProfileFlame& asked, const CancelFlag& cancel) {
  const auto lock = advance(cancel);
  const Span span = span_of(asked.from_ns, asked.to_ns);
  const std::int64_t from = span.from, to = span.to;
  auto reply = begun<protocol::ProfileFlame>();
  reply.by_line = asked.by_line;
  const Sums sums = index_.sums(from, to);
  reply.nodes = profile_flame(sums, events_.classes(), texts_, asked.by_line, most_flame_nodes);
  for (const auto& [gpu, done] : sums.devices) reply.pending += done.pending;
  return reply;
}

protocol::Reply Profiles::answer(const protocol::GetProfileSteps& asked, const CancelFlag& cancel) {
  if (asked.most == 0 || asked.most > most_step_points)
    throw BadRequest("get_profile_steps: " + std::to_string(asked.most) + " points were asked for; 1 to " +
                     std::to_string(most_step_points) + " can be");
  const auto lock = advance(cancel);
  const Span span = span_of(asked.from_ns, asked.to_ns);
  const std::int64_t from = span.from, to = span.to;
  auto reply = begun<protocol::ProfileSteps>();
  std::vector<const StepTime*> inside;
  for (const StepTime& step : index_.steps())
    if (step.to > from && step.to <= to) inside.push_back(&step);
  reply.steps = inside.size();
  const auto run_of = [this](std::int64_t time) {
    return std::ranges::upper_bound(cell_runs_, time, {}, &CellRun::start) - cell_runs_.begin();
  };
  std::ptrdiff_t numbered = -1;
  std::uint64_t before = 0;  ///< that run
  const std::size_t group = (inside.size() + asked.most - 1) / asked.most;
  for (std::size_t i = 0; i < inside.size(); i += std::max<std::size_t>(1, group)) {
    const StepTime* slowest = inside[i];
    for (std::size_t j = i; j < std::min(inside.size(), i + group); ++j)
      if (inside[j]->duration > slowest->duration) slowest = inside[j];
    if (const std::ptrdiff_t run = run_of(slowest->to); run != numbered) {  // the run's first is looked for
      numbered = run;
      before = slowest->number - number_in_run(*slowest);
    }
    reply.numbers.push_back(slowest->number - before);
    reply.starts.push_back(static_cast<double>(slowest->from - from));
    reply.ends.push_back(static_cast<double>(slowest->to - from));
    reply.durations.push_back(static_cast<double>(slowest->duration));
    reply.python.push_back(static_cast<double>(slowest->python));
    reply.records.push_back(slowest->record);
  }
  std::vector<std::uint64_t> order(reply.durations.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const std::size_t shown = std::min(most_slowest, order.size());
  std::partial_sort(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
      [&](std::uint64_t a, std::uint64_t b) { return reply.durations[a] > reply.durations[b]; });
  order.resize(shown);
  reply.slowest = std::move(order);
  return reply;
}

protocol::Reply Profiles::answer(const protocol::GetProfileCost& asked, const CancelFlag& cancel) {
  const protocol::Peaks peaks = this->peaks();
  const std::lock_guard lock(mutex_);
  check_cancelled(&cancel);
  protocol::ProfileCost reply;
  reply.record = asked.record;
  if (asked.record == 0 || asked.record > events_.newest())
    throw BadRequest("get_profile_cost: there is no record " + std::to_string(asked.record));
  const auto number = static_cast<std::uint32_t>(asked.record);
  events_.visit(number, number, [&](const ProfileEvent& event) {
    reply.flops = event.flops;
    reply.bytes = event.bytes;
    reply.duration_ns = protocol::if_there(event.own());
    if (!event.ended || event.inner || event.gpu != 0) return;
    const Roof roof = roof_of(event.flops, event.bytes, events_.classes().at(event.kind).wide, peaks);
    reply.roof_ns = protocol::if_there(roof.ns());
    reply.bound = roof.bound();
  });
  return reply;
}

protocol::Reply Profiles::answer(const protocol::GetPeaks& asked, const CancelFlag& cancel) {
  const std::lock_guard measuring(measure_mutex_);
  protocol::Peaks known = peaks();
  if (!known.known || known.threads != machine_threads()) known = load_peaks(peaks_folder_);
  const auto keep = [this](const protocol::Peaks& peaks) {
    const std::lock_guard lock(peaks_mutex_);
    return peaks_ = peaks;
  };
  if (known.known && !asked.again) return keep(known);
  if (!recorder_.running_cell().empty()) {
    known.problem = "A cell is running: the machine is measured when it has ended.";
    return known;
  }
  const std::uint32_t newest = events_.newest();
  const auto disturbed = [&] { return !recorder_.running_cell().empty() || events_.newest() != newest; };
  const protocol::Peaks measured = measure_peaks(disturbed, &cancel);
  if (measured.known) save_peaks(peaks_folder_, measured);
  if (measured.known || !known.known) return keep(measured);
  known.problem = measured.problem;
  return known;
}

protocol::Reply Profiles::answer(const protocol::GetChromeTrace& asked, const CancelFlag& cancel) {
  const auto lock = advance(cancel);
  const std::int64_t from = asked.from_ns, to = asked.to_ns.value_or(INT64_MAX);
  const int process = static_cast<int>(::getpid());
  protocol::ChromeTrace reply;
  reply.total = events_.newest();
  const auto oldest = std::max<std::uint64_t>(1, events_.oldest());
  if (asked.first <= 1) reply.json = chrome_trace_head(process, "Tapedeck session");
  const auto first = static_cast<std::uint32_t>(std::max<std::uint64_t>(asked.first, oldest));
  const auto last = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(reply.total, std::uint64_t{first} + records_a_piece - 1));
  std::vector<ProfileEvent> seen;
  events_.visit(first, last, [&](const ProfileEvent& event) {
    if (event.ended && event.start >= from && event.start < to) seen.push_back(event);
  });
  for (ProfileEvent& event : seen) {
    // Other tools know no time at the gate: it is cut out of the thread's time.
    const Intervals& gate = index_.pauses().at_gate(event.thread);
    LaneBox box = index_.box_of(event.number);
    box.from -= gate.within(INT64_MIN, box.from);
    box.to -= gate.within(INT64_MIN, box.to);
    event.work_start -= gate.within(INT64_MIN, event.work_start);
    const ProfileClass& of = events_.classes().at(event.kind);
    if (box.count > 0) reply.json += chrome_trace_event(event, box.from, box.to, of, texts_, process);
    if (event.work == WorkTime::known) reply.json += chrome_trace_device_event(event, of, process);
  }
  if (last < reply.total) {
    reply.next = last + 1;
    return reply;
  }
  std::vector<std::uint16_t> threads;
  for (const auto& [key, lane] : index_.lanes())
    if (threads.empty() || threads.back() != key.first) threads.push_back(key.first);
  std::vector<ProfileIndex::DeviceLaneKey> devices;
  for (const auto& [key, lane] : index_.device_lanes()) devices.push_back(key);
  reply.json += chrome_trace_tail(threads, devices, process);
  return reply;
}

}  // namespace tapedeck::debug
