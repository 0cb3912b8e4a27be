#include "engine/record/breakpoints/breakpoint_set.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "engine/protocol/conditions/contradiction.h"
#include "engine/protocol/record_filter.h"
#include "engine/record/trace/source_location.h"
#include "engine/record/trace/trace.h"

namespace tapedeck {
namespace {

using protocol::BreakpointKind;
using protocol::Condition;
using protocol::ConditionError;
using protocol::FilterPart;
using protocol::Flag;
using protocol::NumberTerm;
using protocol::TextTerm;
using protocol::Verdict;

constexpr std::size_t variants = 8;  // of an op: kind, custom, direction

Condition leaf(protocol::Term term) {
  Condition condition;
  condition.kind = Condition::Kind::term;
  condition.term = std::move(term);
  return condition;
}

Condition both(std::vector<Condition> conditions) {
  std::erase_if(conditions, [](const Condition& one) { return one.always(); });
  if (conditions.size() == 1) return std::move(conditions.front());
  Condition all;
  all.parts = std::move(conditions);
  return all;
}

Condition text(FilterPart part, const std::string& value) {
  return value.empty() ? Condition() : leaf(TextTerm{part, protocol::folded(value), true});
}

/// The requirements of the kind alone. Lines and cells are locations, and are checked separately.
Condition condition_of(const protocol::Breakpoint& breakpoint) {
  const bool number = breakpoint.target.starts_with('#');
  const std::string any_if_empty = breakpoint.target.empty() ? "*" : breakpoint.target;
  switch (breakpoint.kind) {
    case BreakpointKind::op: {
      Condition not_vjp;
      not_vjp.kind = Condition::Kind::negation;
      not_vjp.parts.push_back(leaf(Flag::vjp));
      return both({text(FilterPart::op, breakpoint.target), std::move(not_vjp)});
    }
    // Without a name: any variable, which is not the same as any op.
    case BreakpointKind::read:
      return number ? Condition() : text(FilterPart::reads, any_if_empty);
    case BreakpointKind::write:
      return text(FilterPart::writes, any_if_empty);
    case BreakpointKind::exception:
      return leaf(Flag::failed);
    case BreakpointKind::playback:
      return leaf(Flag::playback);
    case BreakpointKind::vjp:
      return both({leaf(Flag::vjp), number ? Condition() : text(FilterPart::op, breakpoint.target)});
    default:
      return {};
  }
}

bool mentions_writes(const Condition& condition) {
  bool found = false;
  for_each_term(condition, [&](const Condition& one) {
    const auto* term = std::get_if<TextTerm>(&one.term);
    found = found || (term && term->part == FilterPart::writes);
  });
  return found;
}

/// Before an event has ended: yes for terms that are known then, unknown for others.
Verdict known_before(const Condition& one) {
  struct Look {
    Verdict operator()(const TextTerm& term) const {
      return term.part == FilterPart::is && !std::string_view("forward").starts_with(term.text) &&
                     !std::string_view("backward").starts_with(term.text)
                 ? Verdict::unknown
                 : Verdict::yes;
    }
    Verdict operator()(Flag flag) const { return flag == Flag::failed ? Verdict::unknown : Verdict::yes; }
    Verdict operator()(const protocol::ShapeTerm&) const { return Verdict::yes; }
    Verdict operator()(const NumberTerm& term) const {
      return term.number == protocol::Number::duration ? Verdict::unknown : Verdict::yes;
    }
    Verdict operator()(const protocol::ValueTerm& term) const {
      return before(term.left) && (!std::holds_alternative<protocol::Quantity>(term.right) ||
                                   before(std::get<protocol::Quantity>(term.right)))
                 ? Verdict::yes
                 : Verdict::unknown;
    }
    Verdict operator()(const protocol::SeriesTerm&) const { return Verdict::yes; }
    Verdict operator()(const protocol::NameTerm&) const { return Verdict::yes; }
    static bool before(const protocol::Quantity& quantity) {
      const bool inputs =
          quantity.target.role == protocol::Role::input || quantity.target.role == protocol::Role::any;
      return inputs || !reads_values(quantity.measure);
    }
  };
  return std::visit(Look{}, one.term);
}

/// A term that is negated may hold, too.
Verdict possible_before(const Condition& condition) {
  if (condition.kind == Condition::Kind::term) return known_before(condition);
  if (condition.kind == Condition::Kind::negation) return possible_before(condition.parts.front());
  const bool all = condition.kind == Condition::Kind::all;
  Verdict verdict = all ? Verdict::yes : Verdict::no;
  for (const Condition& part : condition.parts)
    verdict = all ? std::min(verdict, possible_before(part)) : std::max(verdict, possible_before(part));
  return verdict;
}

std::uint64_t number_of(const std::string& target) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(target.data() + 1, target.data() + target.size(), number);
  if (error != std::errc() || end != target.data() + target.size() || number == 0)
    throw ConditionError(0, "\"" + target + "\" is not a number: a tensor or a record is written as #12.");
  return number;
}

void check_target(const protocol::Breakpoint& breakpoint, protocol::BreakpointState& state) {
  const bool names_op = breakpoint.kind == BreakpointKind::op || breakpoint.kind == BreakpointKind::vjp;
  if (!names_op || breakpoint.target.empty() || breakpoint.target.starts_with('#')) return;
  const std::string pattern = protocol::folded(breakpoint.target);
  const Registry& ops = Registry::instance();
  for (std::size_t i = 0; i < ops.size(); ++i)
    if (protocol::matches_pattern(pattern, ops.at(static_cast<int>(i)).name)) return;
  state.note = "There is no op \"" + breakpoint.target +
               "\": only a function of that name with a custom gradient would be met.";
}

bool same_source(const protocol::Breakpoint& a, const protocol::Breakpoint& b) {
  return a.id == b.id && a.kind == b.kind && a.cell == b.cell && a.target == b.target &&
         a.condition == b.condition && a.once == b.once && a.from_hit == b.from_hit;
}

Verdict text_verdict(const TextTerm& term, FilterPart where, std::string_view value) {
  if (term.part != FilterPart::any && term.part != where) return Verdict::unknown;
  if (term.finds(where, value)) return Verdict::yes;
  return term.part == where ? Verdict::no : Verdict::unknown;
}

/// The verdict of a term on an op's name, kind and direction.
struct OpLook {
  const OpDef* op;
  protocol::RecordKind kind;
  bool custom, backward;

  Verdict operator()(const TextTerm& term) const {
    if (term.part == FilterPart::is) {
      const bool direction = std::string_view("forward").starts_with(term.text) ||
                             std::string_view("backward").starts_with(term.text);
      return direction && protocol::is_state(term, backward, protocol::RecordState::running)
                 ? Verdict::yes
                 : Verdict::unknown;
    }
    const Verdict of_kind = text_verdict(term, FilterPart::kind, protocol::kind_text(kind, custom, backward));
    const Verdict of_op = op ? text_verdict(term, FilterPart::op, op->name) : Verdict::unknown;
    if (of_kind == Verdict::yes || of_op == Verdict::yes) return Verdict::yes;
    return std::min(of_kind, of_op);
  }
  Verdict operator()(Flag flag) const {
    return flag == Flag::failed ? Verdict::unknown
                                : protocol::verdict_of(protocol::has_flag(flag, kind, backward,
                                                                          protocol::RecordState::running));
  }
  template <class Other>
  Verdict operator()(const Other&) const {
    return Verdict::unknown;
  }
};

std::size_t variant(EventKind kind, bool custom, bool backward) {
  return (kind == EventKind::vjp ? 4u : 0u) + (custom ? 2u : 0u) + (backward ? 1u : 0u);
}

}  // namespace

BreakpointSet::BreakpointSet(const protocol::SetBreakpoints& wanted, const CellRuns& runs,
                             const BreakpointSet* before, std::uint64_t series_position,
                             std::vector<protocol::BreakpointState>& states)
    : labels_(wanted.labels), runs_(runs) {
  for (const protocol::Breakpoint& breakpoint : wanted.breakpoints) {
    protocol::BreakpointState state;
    state.id = breakpoint.id;
    add(breakpoint, before, series_position, state);
    states.push_back(std::move(state));
  }
  const std::size_t ops = Registry::instance().size();  // one that is registered meanwhile goes by of_op
  by_op_.resize(ops * variants);
  for (std::size_t op = 0; op < ops; ++op)
    for (const EventKind kind : {EventKind::op, EventKind::vjp})
      for (const bool custom : {false, true})
        for (const bool backward : {false, true}) {
          const OpDef& def = Registry::instance().at(static_cast<int>(op));
          by_op_[op * variants + variant(kind, custom, backward)] = of_op(&def, kind, custom, backward);
        }
}

std::shared_ptr<BreakpointMemory> BreakpointSet::memory_of(const protocol::Breakpoint& breakpoint,
                                                           const BreakpointSet* before,
                                                           std::uint64_t series_position) {
  std::uint64_t hits = 0;
  if (before) {
    for (const auto& old : before->hits())
      if (old.id == breakpoint.id) hits = old.hits;
    for (const auto& old : before->compiled_) {
      if (old->source.id != breakpoint.id) continue;
      if (same_source(old->source, breakpoint)) return old->memory;
      hits = 0;
    }
  }
  auto memory = std::make_shared<BreakpointMemory>();
  memory->hits = hits;
  memory->series_seen = series_position;
  return memory;
}

void BreakpointSet::add(const protocol::Breakpoint& breakpoint, const BreakpointSet* before,
                        std::uint64_t series_position, protocol::BreakpointState& state) {
  auto compiled = std::make_unique<CompiledBreakpoint>();
  compiled->source = breakpoint;
  compiled->memory = memory_of(breakpoint, before, series_position);
  const std::uint64_t hits = compiled->memory->hits.load();
  state.hits = hits;
  const auto attempt = [&](const char* part, auto&& work) {
    try {
      work();
    } catch (const ConditionError& error) {
      if (state.problem) return;
      state.problem = error.what();
      state.part = part;
      state.position = error.position;
    }
  };
  Condition user;
  attempt("condition", [&] {
    user = protocol::parse_condition(breakpoint.condition);
    if (const auto error = protocol::bookmarks_error(user)) throw *error;
  });
  attempt("target", [&] {
    if (!breakpoint.target.starts_with('#')) return;
    const std::uint64_t number = number_of(breakpoint.target);
    if (breakpoint.kind == BreakpointKind::vjp) compiled->forward = static_cast<std::uint32_t>(number);
    if (breakpoint.kind == BreakpointKind::read) compiled->tensor = number;
  });
  attempt("text", [&] {
    if (breakpoint.action == protocol::BreakpointAction::log)
      compiled->text = protocol::LogText::line(breakpoint.text);
    if (breakpoint.action == protocol::BreakpointAction::point)
      compiled->text = protocol::LogText::point(breakpoint.text);
  });
  if (breakpoint.kind == BreakpointKind::condition && user.always() && !state.problem) {
    state.problem = "There is no condition.";
    state.part = "condition";
  }
  compiled->condition = both({condition_of(breakpoint), std::move(user)});
  number_terms(compiled->condition);
  if (!state.problem) {
    check_target(breakpoint, state);
    const int line = breakpoint.kind == BreakpointKind::line ? static_cast<int>(breakpoint.line) : 0;
    if (std::string never = protocol::contradiction_in(compiled->condition, line); !never.empty())
      state.note = std::move(never);
  }
  if (!breakpoint.enabled || state.problem) {
    others_.push_back({breakpoint.id, hits, 0});
    return;
  }
  if (compiled_.size() == most) {
    state.problem = "At most " + std::to_string(most) + " breakpoints work at once.";
    others_.push_back({breakpoint.id, hits, 0});
    return;
  }
  const Mask bit = Mask{1} << compiled_.size();
  if (mentions_writes(compiled->condition)) writers_ |= bit;
  for_each_term(compiled->condition, [&](const Condition& one) {
    if (const auto* flag = std::get_if<Flag>(&one.term); flag && *flag == Flag::failed) failures_ |= bit;
  });
  if (breakpoint.kind == BreakpointKind::cell)
    cells_ |= bit;
  else
    enabled_ |= bit;
  compiled->condition_takes_op = looks_at_ops(compiled->condition);
  const bool takes_op = compiled->condition_takes_op || compiled->text.looks_at_ops();
  compiled->before_line = breakpoint.kind == BreakpointKind::line && !takes_op;
  if (breakpoint.kind == BreakpointKind::line) lines_ |= bit;
  compiled->at_ops_of_line = breakpoint.kind == BreakpointKind::line && takes_op;
  compiled->needs_end = possible_before(compiled->condition) != Verdict::yes || compiled->text.needs_end();
  compiled_.push_back(std::move(compiled));
}

BreakpointSet::Mask BreakpointSet::mask_where(const Mask among,
                                              const std::function<Verdict(const Condition&)>& look) const {
  Mask mask = 0;
  for (std::size_t i = 0; i < compiled_.size(); ++i)
    if ((among >> i & 1) != 0 && evaluate(compiled_[i]->condition, look) != Verdict::no) mask |= Mask{1} << i;
  return mask;
}

BreakpointSet::Mask BreakpointSet::of_op(const OpDef* op, EventKind kind, bool custom, bool backward) const {
  const OpLook look{op, record_kind(kind), custom, backward};
  return mask_where(enabled_, [&](const Condition& one) { return std::visit(look, one.term); });
}

BreakpointSet::Mask BreakpointSet::look_at_location(std::uint32_t location) const {
  if (location >= chunk_size * chunk_count) return enabled_;
  // Held to the end, so that names of a previous execution are not written after forget_locations().
  const std::lock_guard lock(chunks_mutex_);
  std::atomic<Chunk*>& place = by_location_[location / chunk_size];
  Chunk* chunk = place.load(std::memory_order_acquire);
  if (!chunk) {
    chunks_.push_back(std::make_unique<Chunk>());
    chunk = chunks_.back().get();
    place.store(chunk, std::memory_order_release);
  }
  std::atomic<Mask>& entry = (*chunk)[location % chunk_size];
  const SourceLocation where = location_of(location);
  const std::string cell = cell_name(where.cell);
  Mask mask = 0;
  for (std::size_t i = 0; i < compiled_.size(); ++i) {
    const protocol::Breakpoint& source = compiled_[i]->source;
    if (source.kind == BreakpointKind::line && (source.cell != where.cell || source.line != where.line))
      continue;
    const auto look = [&](const Condition& one) {
      if (const auto* number = std::get_if<NumberTerm>(&one.term);
          number && number->number == protocol::Number::line)
        return protocol::verdict_of(number->holds(where.line));
      const auto* term = std::get_if<TextTerm>(&one.term);
      if (!term) return Verdict::unknown;
      const Verdict in_cell = text_verdict(*term, FilterPart::cell, cell);
      const Verdict in_file = text_verdict(*term, FilterPart::file, where.file);
      return in_cell == Verdict::yes || in_file == Verdict::yes ? Verdict::yes : std::min(in_cell, in_file);
    };
    if (evaluate(compiled_[i]->condition, look) != Verdict::no) mask |= Mask{1} << i;
  }
  entry.store(mask | known, std::memory_order_relaxed);
  return mask | known;
}

BreakpointSet::Mask BreakpointSet::of_kind(EventKind kind, const OpDef* op, bool custom,
                                           bool backward) const {
  if (!op || (kind != EventKind::op && kind != EventKind::vjp)) return of_op(nullptr, kind, custom, backward);
  const std::size_t place = static_cast<std::size_t>(op->index) * variants + variant(kind, custom, backward);
  return place < by_op_.size() ? by_op_[place] : of_op(op, kind, custom, backward);
}

std::string BreakpointSet::cell_name(const std::string& cell) const {
  if (cell.empty()) return {};
  return protocol::label_of(cell, runs_.execution_of(cell, std::numeric_limits<std::uint32_t>::max()),
                            labels_);
}

void BreakpointSet::forget_locations() {
  const std::lock_guard lock(chunks_mutex_);
  for (const auto& chunk : chunks_)
    for (std::atomic<Mask>& entry : *chunk) entry.store(0, std::memory_order_relaxed);
}

BreakpointSet::Mask BreakpointSet::of_cell(const std::string& cell) const {
  Mask mask = 0;
  for (std::size_t i = 0; i < compiled_.size(); ++i)
    if ((cells_ >> i & 1) != 0 && compiled_[i]->source.cell == cell) mask |= Mask{1} << i;
  return mask;
}

std::vector<std::pair<std::string, std::uint32_t>> BreakpointSet::lines() const {
  std::vector<std::pair<std::string, std::uint32_t>> lines;
  for (const auto& compiled : compiled_)
    if ((compiled->before_line || compiled->at_ops_of_line) && !compiled->memory->spent.load())
      lines.emplace_back(compiled->source.cell, compiled->source.line);
  return lines;
}

std::uint64_t BreakpointSet::bytes() const {
  const std::lock_guard lock(chunks_mutex_);
  return sizeof(*this) + by_op_.capacity() * sizeof(Mask) + chunks_.size() * sizeof(Chunk) +
         compiled_.size() * (sizeof(CompiledBreakpoint) + sizeof(BreakpointMemory));
}

std::vector<protocol::BreakpointHits> BreakpointSet::hits() const {
  std::vector<protocol::BreakpointHits> all = others_;
  for (const auto& compiled : compiled_)
    all.push_back({compiled->source.id, compiled->memory->hits.load(),
                   compiled->at_ops_of_line ? compiled->memory->without_op.load() : 0});
  return all;
}

}  // namespace tapedeck
