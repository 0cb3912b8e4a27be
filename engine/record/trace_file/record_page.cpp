#include "engine/record/trace_file/record_page.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "engine/ops/core/foreign.h"
#include "engine/record/trace/clock.h"

namespace tapedeck::trace_file {
namespace {

constexpr std::uint32_t glanced_at_once = 2048;
// The first byte of a record: two bits of state, two of kind, and these. A call of a graph function has the
// kind of a function with a custom gradient, without its bit.
constexpr unsigned kind_shift = 2, custom_bit = 1u << 4, backward_bit = 1u << 5, device_bit = 1u << 6,
                   all_bits = (1u << 7) - 1;

void write_attribute(PageWriter& page, const Attribute& attribute) {
  page.byte(static_cast<std::uint8_t>(attribute.index()));
  struct Writer {
    PageWriter& page;
    void operator()(std::monostate) const {}
    void operator()(bool value) const { page.byte(value); }
    void operator()(std::int64_t value) const { page.signed_number(value); }
    void operator()(double value) const { page.real(value); }
    void operator()(const std::string& value) const { page.text(value); }
    void operator()(DType value) const { page.byte(static_cast<std::uint8_t>(value)); }
    void operator()(const std::vector<std::int64_t>& values) const {
      page.number(values.size());
      for (const std::int64_t value : values) page.signed_number(value);
    }
  };
  std::visit(Writer{page}, attribute);
}

Attribute read_attribute(PageReader& page) {
  switch (page.byte()) {
    case 0:
      return std::monostate();
    case 1:
      return page.number_up_to(1, "a truth value") != 0;
    case 2:
      return page.signed_number();
    case 3:
      return page.real();
    case 4:
      return std::string(page.text("an attribute"));
    case 5:
      return static_cast<DType>(page.number_up_to(dtype_count - 1, "a dtype"));
    case 6: {
      std::vector<std::int64_t> values(page.count("a list"));
      for (std::int64_t& value : values) value = page.signed_number();
      return values;
    }
    default:
      throw DamagedPage("there is no such kind of attribute");
  }
}

/// Attributes that several records of a page share are written once.
class AttributeSets {
 public:
  void write(PageWriter& page, const Attributes& attributes) {
    if (attributes.size() == 0) return page.number(0);
    set_.clear();
    set_.number(attributes.size());
    for (std::size_t i = 0; i < attributes.size(); ++i) write_attribute(set_, attributes[i]);
    const auto [known, is_new] = numbers_.try_emplace(set_.string(), numbers_.size() + 1);
    page.number(known->second);
    if (is_new) page.raw(set_.bytes().data(), set_.size());
  }

 private:
  PageWriter set_;
  std::unordered_map<std::string, std::size_t> numbers_;
};

void write_ids(PageWriter& page, std::span<const std::uint64_t> ids, std::uint64_t& last_id) {
  page.number(ids.size());
  for (const std::uint64_t id : ids) {
    page.signed_number(static_cast<std::int64_t>(id - last_id));
    if (id != 0) last_id = id;
  }
}

constexpr unsigned kind_bits(EventKind kind) {
  return static_cast<unsigned>(kind == EventKind::call ? EventKind::custom : kind) << kind_shift;
}

class RecordsWriter {
 public:
  RecordsWriter(PageWriter& page, FileNumbers& numbers, const Trace& trace, const RecordCut& cut)
      : page_(page), numbers_(numbers), trace_(trace), cut_(cut) {}

  void write(const RecordGlance& record) {
    const RecordHead& head = record.head;
    const bool ended =
        (record.state == RecordState::done || record.state == RecordState::failed) && !ended_later(record);
    ended_count += ended;
    const RecordState state = ended ? record.state : RecordState::running;
    page_.byte(static_cast<std::uint8_t>(
        static_cast<unsigned>(state) | kind_bits(head.kind) | (head.custom_gradient ? custom_bit : 0) |
        (head.backward ? backward_bit : 0) | (record.device.state != WorkTime::host ? device_bit : 0)));
    page_.number(numbers_.ops.of(head.op));
    if (!head.op) page_.number(numbers_.names.of(head.name()));
    page_.number(head.depth);
    page_.number(head.thread);
    for (const std::uint32_t earlier : {head.parent, head.forward})
      page_.number(earlier == 0 ? 0 : record.number - earlier);
    page_.number(head.tape);
    page_.number(numbers_.scopes.of(head.scope));
    page_.number(numbers_.locations.of(head.location));
    const std::int64_t start = clock::nanoseconds(head.start);
    page_.signed_number(start - last_start_);
    last_start_ = start;
    attributes_.write(page_, head.attributes);
    write_ids(page_, record.inputs, last_id_);
    if (ended) {
      page_.signed_number(clock::nanoseconds(record.duration));
      write_ids(page_, record.outputs, last_id_);
    }
    if (record.device.state != WorkTime::host) write_device_time(record.device, start);
    if (state == RecordState::failed) failed.push_back(record.number);
    calls.push_back(numbers_.calls.of(head.call()));
    any_call = any_call || calls.back() != 0;
  }

  std::vector<std::uint32_t> failed;
  std::vector<std::uint32_t> calls;  ///< of each record, as the file numbers them
  bool any_call = false;
  std::uint64_t ended_count = 0;

 private:
  /// GPU times that are unknown by now will be missing in the file.
  void write_device_time(const DeviceTime& time, std::int64_t called) {
    const bool known = time.state == WorkTime::known;
    page_.byte(time.gpu);
    page_.byte(known ? 1 : 0);
    if (!known) return;
    page_.signed_number(clock::nanoseconds(time.start) - called);
    page_.signed_number(clock::nanoseconds(time.duration));
  }

  bool ended_later(const RecordGlance& record) const {
    return std::any_of(record.outputs.begin(), record.outputs.end(), [&](std::uint64_t id) {
      return id > cut_.newest_tensor || trace_.tensors().get(id).producer() > cut_.newest_record;
    });
  }

  PageWriter& page_;
  FileNumbers& numbers_;
  const Trace& trace_;
  const RecordCut& cut_;
  AttributeSets attributes_;
  std::int64_t last_start_ = 0;
  std::uint64_t last_id_ = 0;
};

/// Ops accept numbers of other kinds, and one number for a list.
bool fits_kind(const Attribute& attribute, const AttributeSpec& spec) {
  if (std::holds_alternative<std::monostate>(attribute))
    return std::holds_alternative<std::monostate>(spec.fallback);
  const bool whole = std::holds_alternative<std::int64_t>(attribute);
  switch (spec.kind) {
    case AttributeKind::boolean:
      return std::holds_alternative<bool>(attribute);
    case AttributeKind::integer:
    case AttributeKind::real:
      return whole || std::holds_alternative<double>(attribute) || std::holds_alternative<bool>(attribute);
    case AttributeKind::text:
      return std::holds_alternative<std::string>(attribute);
    case AttributeKind::dtype:
      return std::holds_alternative<DType>(attribute);
    case AttributeKind::integers:
    case AttributeKind::shape:
      return whole || std::holds_alternative<std::vector<std::int64_t>>(attribute);
  }
  return false;
}

class RecordsReader {
 public:
  RecordsReader(PageReader& page, const ProcessNumbers& numbers, const RecordChecks& checks)
      : page_(page), numbers_(numbers), checks_(checks) {}

  StoredRecord read(std::uint32_t number) {
    StoredRecord record;
    record.number = number;
    RecordHead& head = record.head;
    const unsigned bits = page_.byte();
    record.state = static_cast<RecordState>(bits & 3);
    head.kind = static_cast<EventKind>(bits >> kind_shift & 3);
    head.custom_gradient = (bits & custom_bit) != 0;
    head.backward = (bits & backward_bit) != 0;
    if (head.kind == EventKind::custom && !head.custom_gradient) head.kind = EventKind::call;
    if (bits > all_bits || record.state == RecordState::pending) throw DamagedPage("an invalid state");
    head.op = in_process(numbers_.ops, page_.number(), "op");
    if (!head.op) head.label = in_process(numbers_.names, page_.number(), "name");
    head.depth = static_cast<std::uint16_t>(page_.number_up_to(UINT16_MAX, "a depth"));
    head.thread = static_cast<std::uint16_t>(page_.number_up_to(UINT16_MAX, "a thread"));
    for (std::uint32_t* earlier : {&head.parent, &head.forward}) {
      const auto distance = static_cast<std::uint32_t>(page_.number_up_to(number - 1, "a distance"));
      *earlier = distance == 0 ? 0 : number - distance;
    }
    head.tape = static_cast<std::uint32_t>(page_.number_up_to(UINT32_MAX, "a tape"));
    head.scope = in_process(numbers_.scopes, page_.number(), "scope");
    head.location = in_process(numbers_.locations, page_.number(), "source line");
    start_ = static_cast<std::int64_t>(static_cast<std::uint64_t>(start_) +
                                       static_cast<std::uint64_t>(page_.signed_number()));
    head.start = clock::ticks_of(sound_time(start_));
    read_attributes(record);
    read_ids(record.inputs);
    if (record.state != RecordState::running) {
      record.duration = clock::ticks_of(sound_time(page_.signed_number()));
      read_ids(record.outputs);
    }
    if ((bits & device_bit) != 0) read_device_time(record.device);
    check(record);
    return record;
  }

 private:
  [[noreturn]] static void refuse_record(const StoredRecord& record, const std::string& what) {
    throw DamagedPage("record " + std::to_string(record.number) + " " + what);
  }

  /// A few centuries: computations with it must not overflow.
  static std::int64_t sound_time(std::int64_t nanoseconds) {
    constexpr std::int64_t longest = std::int64_t{1} << 60;
    if (nanoseconds > longest || nanoseconds < -longest) throw DamagedPage("an invalid time");
    return nanoseconds;
  }

  void read_device_time(DeviceTime& time) {
    time.gpu = page_.byte();
    if (time.gpu >= detail::most_gpus) throw DamagedPage("an invalid device");
    const unsigned known = page_.byte();
    if (known > 1) throw DamagedPage("an invalid time");
    time.state = known == 1 ? WorkTime::known : WorkTime::lost;
    if (known == 0) return;
    time.start = clock::ticks_of(sound_time(start_ + sound_time(page_.signed_number())));
    time.duration = clock::ticks_of(sound_time(page_.signed_number()));
  }

  void read_attributes(StoredRecord& record) {
    const std::uint64_t set = page_.number_up_to(sets_.size() + 1, "a set of attributes");
    if (set == 0) return;
    if (set > sets_.size()) {
      std::vector<Attribute> values(page_.count("attributes"));
      for (Attribute& value : values) value = read_attribute(page_);
      sets_.emplace_back(std::move(values));
    }
    record.head.attributes = sets_[set - 1];
  }

  void read_ids(TensorIds& ids) {
    const std::size_t count = page_.count("tensors");
    ids.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t id = last_id_ + static_cast<std::uint64_t>(page_.signed_number());
      if (id > checks_.newest_tensor)
        throw DamagedPage("tensor " + std::to_string(id) + " is newer than the file's newest, " +
                          std::to_string(checks_.newest_tensor));
      ids.push_back(id);
      if (id != 0) last_id_ = id;
    }
  }

  void check(const StoredRecord& record) const {
    const bool is_op = record.head.kind == EventKind::op;
    if (is_op && !record.head.op) refuse_record(record, "is an op without a name");
    if (!is_op && record.head.kind != EventKind::vjp && record.head.op)
      refuse_record(record, "is not an op, but has an op's name");
    if (record.head.kind == EventKind::vjp) check_vjp(record);
    if (is_op) check_op(record);
    for (const std::uint64_t id : record.inputs)
      if (id != 0 && checks_.origin(id).producer() >= record.number)
        refuse_record(record, "takes a tensor that a later one made");
  }

  void check_vjp(const StoredRecord& record) const {
    if (record.head.forward == 0) refuse_record(record, "is the VJP of nothing");
    if (record.head.op && !record.head.op->vjp && !is_foreign(*record.head.op))
      refuse_record(record, "is the VJP of " + record.head.op->name + ", which has none");
    if (!record.head.op && !record.head.custom_gradient) refuse_record(record, "is the VJP of no op");
  }

  /// A call that the op's checks rejected has no attributes, and its inputs may be anything.
  void check_op(const StoredRecord& record) const {
    const OpDef& op = *record.head.op;
    // The schema's attributes may have others behind them, and its lists are of any length; ids of views are
    // older than what they are made of.
    if (is_foreign(op)) return;
    if (record.state == RecordState::failed && record.head.attributes.size() == 0) return;
    if (record.head.attributes.size() != op.attributes.size())
      refuse_record(record, "has " + std::to_string(record.head.attributes.size()) + " attributes, " +
                                op.name + " " + std::to_string(op.attributes.size()));
    for (std::size_t i = 0; i < op.attributes.size(); ++i)
      if (!fits_kind(record.head.attributes[i], op.attributes[i]))
        refuse_record(record, "has the attribute " + op.attributes[i].name + "=" +
                                  to_string(record.head.attributes[i]) + ", which " + op.name +
                                  " does not take");
    const std::size_t inputs = op.inputs.size();
    const bool variadic = inputs > 0 && op.inputs.back().variadic;
    if (record.inputs.size() != inputs && !(variadic && record.inputs.size() + 1 >= inputs))
      refuse_record(record, "has " + std::to_string(record.inputs.size()) + " inputs, " + op.name + " " +
                                std::to_string(inputs));
    if (record.state == RecordState::done) check_outputs(record);
  }

  void check_outputs(const StoredRecord& record) const {
    const OpDef& op = *record.head.op;
    const std::size_t named = op.results.fields.size();
    // With some attributes only the first is returned: svd's s.
    if (!op.returns_list && record.outputs.size() != 1 && record.outputs.size() != named)
      refuse_record(record, "has " + std::to_string(record.outputs.size()) + " outputs, which " + op.name +
                                " does not have");
    std::uint64_t newest_input = 0;
    for (const std::uint64_t id : record.inputs) {
      if (id == 0) refuse_record(record, "lacks an input");
      newest_input = std::max(newest_input, id);
    }
    for (const std::uint64_t id : record.outputs) {
      const std::uint32_t producer = checks_.origin(id).producer();
      if (id == 0 || producer > record.number || (producer == record.number && id <= newest_input))
        refuse_record(record, "makes a tensor that is older than what it is made of");
    }
  }

  PageReader& page_;
  const ProcessNumbers& numbers_;
  const RecordChecks& checks_;
  std::vector<Attributes> sets_;
  std::int64_t start_ = 0;
  std::uint64_t last_id_ = 0;
};

/// A record below the newest finished one may still be in the process of being written, for some nanoseconds.
bool glance_all(const Trace& trace, std::uint32_t first, std::uint32_t last,
                const std::function<void(const RecordGlance&)>& visit) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (first <= last) {
    if (trace.oldest_kept() > first) return false;
    const std::uint32_t to = std::min(last, first + glanced_at_once - 1);
    std::uint32_t due = first;
    bool gap = false;
    const std::uint32_t next = trace.glance(first, to, [&](const RecordGlance& record) {
      gap = gap || record.number != due++;
      if (!gap) visit(record);
    });
    if (gap) return false;
    if (next == first) {
      if (std::chrono::steady_clock::now() > give_up) return false;
      std::this_thread::yield();
    }
    first = next;
  }
  return true;
}

}  // namespace

bool write_records(const Trace& trace, std::uint32_t first, std::uint32_t last, const RecordCut& cut,
                   FileNumbers& numbers, PageWriter& page, std::uint64_t& ended) {
  RecordsWriter writer(page, numbers, trace, cut);
  const bool all = glance_all(trace, first, last, [&](const RecordGlance& record) { writer.write(record); });
  if (!all) return false;
  for (const std::uint32_t number : writer.failed) {
    RecordView record;
    if (!trace.read(number, record)) return false;
    page.text(record.error);
  }
  if (writer.any_call)
    for (const std::uint32_t call : writer.calls) page.number(call);
  ended += writer.ended_count;
  return true;
}

std::vector<StoredRecord> read_records(PageReader& page, std::uint32_t first, std::uint32_t last,
                                       const ProcessNumbers& numbers, const RecordChecks& checks) {
  RecordsReader reader(page, numbers, checks);
  std::vector<StoredRecord> records;
  for (std::uint32_t number = first; number <= last; ++number) records.push_back(reader.read(number));
  for (StoredRecord& record : records)
    if (record.state == RecordState::failed) record.error = page.text("an error");
  // Before version 4 nothing follows.
  if (page.left() > 0)
    for (StoredRecord& record : records)
      record.head.set_label(record.head.name(), in_process(numbers.calls, page.number(), "call"));
  page.end();
  return records;
}

}  // namespace tapedeck::trace_file
