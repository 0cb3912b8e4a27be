#include "engine/debug/answers.h"

#include <concepts>
#include <variant>

#include "engine/debug/find_element.h"
#include "engine/debug/find_records.h"
#include "engine/debug/graph_look.h"
#include "engine/debug/line_notes.h"
#include "engine/debug/past_hits.h"
#include "engine/debug/tile.h"
#include "engine/debug/trace_answers.h"
#include "engine/debug/why/why.h"
#include "engine/graph/eager.h"
#include "engine/ops/core/observer.h"
#include "engine/ops/core/placement.h"
#include "engine/protocol/codec.h"
#include "engine/record/trace/tensor_specs.h"
#include "engine/record/trace/tensor_text.h"

namespace tapedeck::debug {
namespace {

constexpr std::uint32_t most_bins = 4096;

/// One function for each kind of message: a forgotten one does not compile.
template <class... Case>
struct Cases : Case... {
  using Case::operator()...;
};
template <class... Case>
Cases(Case...) -> Cases<Case...>;

template <class Message>
concept AsksHost = std::constructible_from<HostRequest, Message>;

/// Which stop the request is about.
template <class Message>
std::optional<std::uint64_t> stop_of(const Message& message) {
  if constexpr (requires { message.place; })
    return message.place.stop;
  else
    return message.stop;
}

/// Runs `work`, which looks at values on the host; what it throws becomes a Failure.
template <class Work>
protocol::Reply guarded(const CancelFlag& cancel, Work&& work) {
  const QuietScope quiet;
  const DeviceScope on_cpu(Device{});
  try {
    check_cancelled(&cancel);
    return work();
  } catch (const Cancelled&) {
    return protocol::Failure{"The request was cancelled.", "cancelled"};
  } catch (const ValueError& error) {
    return protocol::Failure{error.what(), error.code};
  } catch (const BadRequest& error) {
    return protocol::Failure{error.what(), "bad_request"};
  } catch (const std::exception& error) {  // out of memory, most likely
    return protocol::Failure{error.what(), "too_expensive"};
  }
}

/// Where the value comes from. Ops run again where they ran, unless the CPU was asked for, or a trace file's
/// ran on a GPU that is not here.
std::string source_of(const Recorder& recorder, std::uint64_t tensor, const FoundValue& found) {
  const TensorOrigin origin = recorder.trace().tensors().get(tensor);
  const bool may_be_elsewhere = found.recomputed || (!origin.is_leaf() && !origin.stored());
  if (origin.known() && may_be_elsewhere) {
    const Device ran = spec_of(origin.spec()).device, now = found.value.device();
    if (now != ran) return "computed again on " + to_string(now) + "; it ran on " + to_string(ran);
  }
  return found.recomputed ? "recomputed" : "held";
}

void check_bins(const std::string& request, std::uint32_t bins) {
  if (bins > most_bins)
    throw BadRequest(request + ": " + std::to_string(bins) + " bins were asked for, the most is " +
                     std::to_string(most_bins));
}

template <class Message>
protocol::Reply of_conversation(const Message&) {
  return protocol::Failure{std::string(Message::type) + " belongs to a conversation with the debug server.",
                           "bad_request"};
}

}  // namespace

// Every message has one line here, or some: what is answered at once, and what a job answers.
Answers::Answer Answers::reply_or_work(const protocol::Request& request) {
  using namespace protocol;
  if (auto refused = refused_by_file(recorder_, request)) return std::move(*refused);
  // A job of `work`, which gives the reply. Not a template: it would be compiled for each kind of message.
  const auto job = [](Jobs::Work work) -> Answer {
    return Jobs::Work([work = std::move(work)](const CancelFlag& cancel, const Jobs::Report& report) {
      return guarded(cancel, [&] { return work(cancel, report); });
    });
  };
  const auto by = [&job]<class Reader, class Message, class Result>(
                      Reader& reader, Result (Reader::*function)(const Message&, const CancelFlag*)) {
    return [&job, &reader, function](const Message& message) {
      return job([&reader, function, message](const CancelFlag& cancel, const Jobs::Report&) {
        return (reader.*function)(message, &cancel);
      });
    };
  };
  const auto own = [&job, this]<class Message>(
                       Reply (Answers::*function)(const Message&, const CancelFlag&, const Jobs::Report&)) {
    return [&job, this, function](const Message& message) {
      return job([this, function, message](const CancelFlag& cancel, const Jobs::Report& report) {
        return (this->*function)(message, cancel, report);
      });
    };
  };
  const Jobs::Report quietly = [](const Progress&) {};  // where what is asked for tells of its own progress
  return protocol::visit(
      Cases{
          // ---- at once
          [&](const GetStatus&) -> Answer { return Reply(describe_status(recorder_)); },
          [&](const GetRecords& get) -> Answer { return Reply(describe_page(recorder_, get)); },
          [&](const GetSeries& get) -> Answer { return Reply(recorder_.series().read(get.first)); },
          [&](const GetPictures& get) -> Answer { return Reply(recorder_.pictures().read(get.first)); },
          [&](const GetCellRuns& get) -> Answer { return Reply(describe_cell_runs(recorder_, get.count)); },
          [&](const GetTraceFile&) -> Answer { return describe_file(recorder_); },
          [&](const SetGate& set) -> Answer { return set_gate(set); },
          [&](const SetOptions& set) -> Answer { return set_options(set); },
          [&](const SetBreakpoints& set) -> Answer { return Reply(set_breakpoints(set)); },
          [&](const DropBranch& drop) -> Answer {
            branches_.drop(drop.branch);
            return Reply(describe_status(recorder_));
          },
          [&](const DropComparison& drop) -> Answer {
            comparisons_.drop(drop.comparison);
            return Reply(describe_status(recorder_));
          },
          [&](const GetVersion& get) -> Answer { return version(get); },
          [&](const Pin& pin) -> Answer {
            if (pin.pinned) return own(&Answers::pin)(pin);
            recorder_.values().unpin(pin.tensor, recorder_.trace().newest());
            return Reply(describe_status(recorder_));
          },
          [](const Hello& hello) -> Answer { return of_conversation(hello); },
          [](const Cancel& cancel) -> Answer { return of_conversation(cancel); },
          // ---- jobs
          own(&Answers::tile),
          own(&Answers::statistics),
          own(&Answers::element),
          own(&Answers::why),
          own(&Answers::branch_tile),
          own(&Answers::branch_statistics),
          own(&Answers::take_over),
          own(&Answers::health_findings),
          own(&Answers::comparison_tile),
          by(tapes_, &TapeIndex::read),
          by(groups_, &GroupIndex::read),
          by(lost_, &LostValues::read),
          by(memory_, &MemoryReader::curve),
          by(memory_, &MemoryReader::state),
          by(memory_, &MemoryReader::savings),
          by(health_, &HealthReader::table),
          by(health_, &HealthReader::curve),
          [&](const GetGraphFunctions& get) {
            return job([get](const CancelFlag&, const Jobs::Report&) { return describe_functions(get); });
          },
          [&](const GetGraph& get) {
            return job([get](const CancelFlag& cancel, const Jobs::Report&) {
              return describe_graph(get, &cancel);
            });
          },
          [&](const SampleHealth& sample) {
            return job([this, sample](const CancelFlag& cancel, const Jobs::Report& report) {
              return health_.sample(sample, finder(cancel, report), &cancel);
            });
          },
          [&](const FindRecords& find) {
            return job([this, find](const CancelFlag& cancel, const Jobs::Report& report) {
              return find_records(recorder_, find, &cancel, finder_there(cancel, report));
            });
          },
          [&](const FindHit& find) {
            return job([this, find](const CancelFlag& cancel, const Jobs::Report& report) {
              return find_hit(recorder_, find, &cancel, finder_there(cancel, report));
            });
          },
          [&](const GetVjp& get) {
            return job([this, get](const CancelFlag& cancel, const Jobs::Report& report) {
              return vjps_.parts(get, finder(cancel, report), &cancel);
            });
          },
          [&](const ExplainElement& explain) {
            return job([this, explain](const CancelFlag& cancel, const Jobs::Report& report) {
              return vjps_.explain(explain, finder(cancel, report), &cancel);
            });
          },
          [&]<AsksHost Message>(const Message& ask) {
            return job(
                [this, ask](const CancelFlag& cancel, const Jobs::Report&) { return ask_host(ask, cancel); });
          },
          [&]<AsksProfile Message>(const Message& ask) {
            return job([this, ask](const CancelFlag& cancel, const Jobs::Report&) {
              return profiles_.answer(ask, cancel);
            });
          },
          [&](const MakeBranch& make) {
            return job([this, make, quietly](const CancelFlag& cancel, const Jobs::Report& report) {
              return branches_.make(make, finder(cancel, quietly), cancel, report);
            });
          },
          [&](const GetBranchSeries& get) {
            return job([this, get](const CancelFlag&, const Jobs::Report&) { return branches_.series(get); });
          },
          [&](const GetBranchPreviews& get) {
            return job([this, get](const CancelFlag& cancel, const Jobs::Report& report) {
              return branches_.previews(get, finder(cancel, report), cancel);
            });
          },
          [&](const SaveTrace& save) {
            return job([this, save](const CancelFlag& cancel, const Jobs::Report& report) {
              return save_trace(recorder_, save, cancel, report);
            });
          },
          [&](const GetSource& get) {
            return job(
                [this, get](const CancelFlag&, const Jobs::Report&) { return source_of(recorder_, get); });
          },
          [&](const MakeComparison& make) {
            return job([this, make](const CancelFlag& cancel, const Jobs::Report& report) {
              return comparisons_.make(make, cancel, report);
            });
          },
          [&](const GetComparisonRows& get) {
            return job(
                [this, get](const CancelFlag&, const Jobs::Report&) { return comparisons_.rows(get); });
          },
          [&](const FindComparisonRow& find) {
            return job(
                [this, find](const CancelFlag&, const Jobs::Report&) { return comparisons_.place(find); });
          },
          [&](const CompareOperands& compare) {
            return job([this, compare](const CancelFlag& cancel, const Jobs::Report& report) {
              return comparisons_.operands(compare, finder_there(cancel, report), cancel);
            });
          },
          [&](const FindFirstDifference& ask) {
            return job([this, ask, quietly](const CancelFlag& cancel, const Jobs::Report& report) {
              return comparisons_.first_difference(ask, finder_there(cancel, quietly), cancel, report);
            });
          },
          [&](const CompareLayers& compare) {
            return job([this, compare, quietly](const CancelFlag& cancel, const Jobs::Report& report) {
              return comparisons_.layers(compare, finder_there(cancel, quietly), cancel, report);
            });
          },
          [&](const GetComparisonCurves& get) {
            return job(
                [this, get](const CancelFlag&, const Jobs::Report&) { return comparisons_.curves(get); });
          },
      },
      request);
}

FindTensor Answers::finder(const CancelFlag& cancel, const Jobs::Report& report) {
  return
      [this, &cancel, &report](std::uint64_t tensor) { return find(tensor, cancel, report).value.on_host(); };
}

FindTensor Answers::finder_there(const CancelFlag& cancel, const Jobs::Report& report) {
  return [this, &cancel, &report](std::uint64_t tensor) { return find(tensor, cancel, report).value; };
}

FoundValue Answers::find(std::uint64_t tensor, const CancelFlag& cancel, const Jobs::Report& report) {
  if (Tensor value = recorder_.values().held(tensor)) return {std::move(value), false};
  std::unique_lock lock(replay_mutex_);
  while (replaying_) {
    replay_ended_.wait_for(lock, std::chrono::milliseconds(20));
    check_cancelled(&cancel);
  }
  replaying_ = true;
  lock.unlock();
  struct Turn {
    Answers& answers;
    ~Turn() {
      {
        const std::lock_guard end(answers.replay_mutex_);
        answers.replaying_ = false;
      }
      answers.replay_ended_.notify_all();
    }
  } turn{*this};
  return find_value(recorder_, tensor, limits_, &cancel, [&](std::uint64_t done, std::uint64_t total) {
    report(protocol::Progress{done, total});
  });
}

// Between two stops the values change while a view shows them, so nothing is shown.
protocol::Reply Answers::ask_host(const HostRequest& request, const CancelFlag& cancel) {
  if (!host_)
    return protocol::Failure{"This session runs no Python program, so there are no variables to show.",
                             "bad_request"};
  const auto stop = std::visit([](const auto& message) { return stop_of(message); }, request);
  const GateStatus gate = recorder_.gate().status();
  if (stop && (*stop == 0 || *stop != gate.stop))
    return protocol::Failure{"The program has gone on since.", "gone"};
  if (!stop && gate.state != GateState::stopped && !recorder_.running_cell().empty())
    return protocol::Failure{"A cell is running: variables are shown when it stops or ends.", "running"};
  const DeviceScope as_the_program(std::nullopt);
  return host_->answer(request, cancel);
}

protocol::Reply Answers::set_gate(const protocol::SetGate& request) {
  const bool stops = request.command != GateCommand::run && request.command != GateCommand::end;
  if (!recorder_.recording() && stops)
    return protocol::Failure{"The recording is off: ops do not pass the gate, so nothing can stop there.",
                             "bad_request"};
  recorder_.gate().command(request.command);
  return describe_status(recorder_);
}

protocol::Reply Answers::version(const protocol::GetVersion& request) const {
  const auto assignment = recorder_.data_flow().assignment_of(request.tensor);
  if (!assignment) return protocol::HeldValue{tensor_info(recorder_, request.tensor, true), false};
  const auto id =
      recorder_.data_flow().value_before(assignment->variable, request.moment.value_or(UINT64_MAX));
  if (!id)
    return protocol::Failure{
        "Which value " + tensor_text(recorder_, request.tensor) + "'s variable had then is no longer known.",
        "gone"};
  return protocol::HeldValue{tensor_info(recorder_, *id, true), true};
}

// The window asks again with the same ones when cells end: there may be new traces.
protocol::Breakpoints Answers::set_breakpoints(const protocol::SetBreakpoints& request) {
  const std::lock_guard lock(breakpoints_mutex_);
  std::vector<std::uint8_t> bytes = protocol::encode(0, protocol::Request(request));
  Breakpoints& set = recorder_.breakpoints();
  if (const std::uint64_t lines = set.lines_version();
      bytes != breakpoints_set_ || breakpoints_lines_ != lines) {
    breakpoints_answer_ = {set.set(request)};
    breakpoints_set_ = std::move(bytes);
    breakpoints_lines_ = lines + 1;  // where others set some meanwhile, it is more
  }
  protocol::Breakpoints answer = breakpoints_answer_;
  for (const protocol::BreakpointHits& counted : recorder_.breakpoints().hits())
    for (protocol::BreakpointState& state : answer.states)
      if (state.id == counted.id) state.hits = counted.hits;
  add_line_notes(request, answer);
  return answer;
}

protocol::Reply Answers::set_options(const protocol::SetOptions& request) {
  if (request.recording) recorder_.set_recording(*request.recording);
  if (request.break_at_cell_start) recorder_.gate().set_break_at_cell_start(*request.break_at_cell_start);
  if (request.budget_bytes) recorder_.set_budget(*request.budget_bytes);
  if (request.keep_everything) recorder_.values().set_keep_everything(*request.keep_everything);
  if (request.replay_on_cpu) recorder_.set_replay_on_cpu(*request.replay_on_cpu);
  if (request.functions_eagerly) graph::set_functions_run_eagerly(*request.functions_eagerly);
  return describe_status(recorder_);
}

protocol::Reply Answers::tile(const protocol::GetTile& request, const CancelFlag& cancel,
                              const Jobs::Report& report) {
  const FoundValue found = find(request.tensor, cancel, report);
  protocol::Tile tile = make_tile(found.value, request, &cancel);
  tile.source = source_of(recorder_, request.tensor, found);
  return tile;
}

protocol::Reply Answers::statistics(const protocol::GetStatistics& request, const CancelFlag& cancel,
                                    const Jobs::Report& report) {
  check_bins("get_statistics", request.bins);
  if (const auto kept = recorder_.values().statistics_of_dropped(request.tensor))
    return describe_summary(request.tensor, *kept, "kept statistics");
  const FoundValue found = find(request.tensor, cancel, report);
  return describe_summary(request.tensor, summarize(found.value, request.bins, true, &cancel),
                          source_of(recorder_, request.tensor, found));
}

protocol::Reply Answers::element(const protocol::FindElement& request, const CancelFlag& cancel,
                                 const Jobs::Report& report) {
  if (request.branch) {
    const Tensor value =
        branches_.value(*request.branch, request.tensor, request.difference, finder(cancel, report), cancel);
    protocol::FoundElement found = find_element(value, request, &cancel);
    found.source = "recomputed";
    return found;
  }
  const FoundValue value = find(request.tensor, cancel, report);
  protocol::FoundElement found = find_element(value.value, request, &cancel);
  found.source = source_of(recorder_, request.tensor, value);
  return found;
}

protocol::Reply Answers::pin(const protocol::Pin& request, const CancelFlag& cancel,
                             const Jobs::Report& report) {
  const FoundValue found = find(request.tensor, cancel, report);
  if (!recorder_.values().pin(request.tensor, found.value))
    return protocol::Failure{"The value of " + tensor_text(recorder_, request.tensor) + ", " +
                                 std::to_string(found.value.storage()->size()) +
                                 " bytes, does not fit the recording's budget of " +
                                 std::to_string(recorder_.values().options().budget_bytes) + " bytes.",
                             "too_expensive"};
  return describe_status(recorder_);
}

protocol::Reply Answers::why(const protocol::Why& request, const CancelFlag& cancel,
                             const Jobs::Report& report) {
  // A check tells how many VJPs it has done; the ops that run again for their values are not part of that.
  const Jobs::Report quietly = [](const protocol::Progress&) {};
  const bool counts_vjps = request.question == protocol::Question::check;
  Past past(recorder_, finder(cancel, counts_vjps ? quietly : report), &cancel, report);
  protocol::Because because = answer(past, request);
  if (counts_vjps) health_.checked(request, because);
  return because;
}

protocol::Reply Answers::health_findings(const protocol::GetHealthFindings& request, const CancelFlag& cancel,
                                         const Jobs::Report& report) {
  Past past(recorder_, finder(cancel, report), &cancel, report);
  return health_.findings(request, past);
}

protocol::Reply Answers::branch_tile(const protocol::GetBranchTile& request, const CancelFlag& cancel,
                                     const Jobs::Report& report) {
  const Tensor value = branches_.value(request.branch, request.tile.tensor, request.difference,
                                       finder(cancel, report), cancel);
  protocol::Tile tile = make_tile(value, request.tile, &cancel);
  tile.source = "recomputed";
  return tile;
}

protocol::Reply Answers::branch_statistics(const protocol::GetBranchStatistics& request,
                                           const CancelFlag& cancel, const Jobs::Report& report) {
  const protocol::GetStatistics& asked = request.statistics;
  check_bins("get_branch_statistics", asked.bins);
  const Tensor value =
      branches_.value(request.branch, asked.tensor, request.difference, finder(cancel, report), cancel);
  return describe_summary(asked.tensor, summarize(value, asked.bins, true, &cancel), "recomputed");
}

protocol::Reply Answers::comparison_tile(const protocol::GetComparisonTile& request, const CancelFlag& cancel,
                                         const Jobs::Report& report) {
  const Tensor value = comparisons_.value(request, finder_there(cancel, report), cancel);
  protocol::Tile tile = make_tile(value, request.tile, &cancel);
  tile.source = "recomputed";
  return tile;
}

// While the program computes, what it reads of a variable must not depend on when the user clicked.
protocol::Reply Answers::take_over(const protocol::TakeOver& request, const CancelFlag& cancel,
                                   const Jobs::Report& report) {
  if (recorder_.gate().status().state != GateState::stopped && !recorder_.running_cell().empty())
    return protocol::Failure{"A cell is running: a variable takes a value when it stops or ends.", "running"};
  return branches_.take_over(request, finder(cancel, report), cancel);
}

}  // namespace tapedeck::debug
