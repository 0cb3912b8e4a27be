#include "engine/debug/answers.h"

#include <concepts>
#include <variant>

#include "engine/debug/find_records.h"
#include "engine/debug/tile.h"
#include "engine/debug/trace_answers.h"
#include "engine/debug/why/why.h"
#include "engine/ops/observer.h"
#include "engine/record/tensor_text.h"

namespace tapedeck::debug {
namespace {

constexpr std::uint32_t most_bins = 4096;

/// One function for each kind of message: a forgotten one does not compile.
template <class... Case>
struct Cases : Case... {
  using Case::operator()...;
};

template <class Message>
concept AsksHost = std::constructible_from<HostRequest, Message>;

/// Which stop the request is about.
template <class Message>
std::uint64_t stop_of(const Message& message) {
  if constexpr (requires { message.place; })
    return message.place.stop;
  else
    return message.stop;
}

/// Runs `work`; what it throws becomes a Failure.
template <class Work>
protocol::Reply guarded(const CancelFlag& cancel, Work&& work) {
  const QuietScope quiet;
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

const char* source_of(const FoundValue& found) {
  return found.recomputed ? "recomputed" : "held";
}

void check_bins(const std::string& request, std::uint32_t bins) {
  if (bins > most_bins)
    throw BadRequest(request + ": " + std::to_string(bins) + " bins were asked for, the most is " +
                     std::to_string(most_bins));
}

template <class T>
bool one_at_most(const std::vector<T>& option) {
  return option.size() <= 1;
}

}  // namespace

std::optional<protocol::Reply> Answers::at_once(const protocol::Request& request) {
  using namespace protocol;
  using Answer = std::optional<Reply>;
  if (Answer refused = refused_by_file(recorder_, request)) return refused;
  return std::visit(
      Cases{
          [&](const GetStatus&) -> Answer { return describe_status(recorder_); },
          [&](const GetRecords& get) -> Answer { return describe_page(recorder_, get); },
          [&](const GetSeries& get) -> Answer { return recorder_.series().read(get.first); },
          [&](const GetPictures& get) -> Answer { return recorder_.pictures().read(get.first); },
          [&](const SetGate& set) -> Answer { return set_gate(set); },
          [&](const SetOptions& set) -> Answer { return set_options(set); },
          [&](const SetBreakpoints& set) -> Answer {
            return protocol::Breakpoints{recorder_.breakpoints().set(set)};
          },
          [&](const Pin& pin) -> Answer {
            if (pin.pinned) return std::nullopt;
            recorder_.values().unpin(pin.tensor, recorder_.trace().newest());
            return describe_status(recorder_);
          },
          [](const GetTape&) -> Answer { return std::nullopt; },
          [](const FindRecords&) -> Answer { return std::nullopt; },
          [](const GetTile&) -> Answer { return std::nullopt; },
          [](const GetStatistics&) -> Answer { return std::nullopt; },
          [](const Why&) -> Answer { return std::nullopt; },
          [](const GetVjp&) -> Answer { return std::nullopt; },
          [](const ExplainElement&) -> Answer { return std::nullopt; },
          []<AsksHost Message>(const Message&) -> Answer { return std::nullopt; },
          []<AsksProfile Message>(const Message&) -> Answer { return std::nullopt; },
          [](const MakeBranch&) -> Answer { return std::nullopt; },
          [](const GetBranchTile&) -> Answer { return std::nullopt; },
          [](const GetBranchStatistics&) -> Answer { return std::nullopt; },
          [](const GetBranchPreviews&) -> Answer { return std::nullopt; },
          [](const TakeOver&) -> Answer { return std::nullopt; },
          [](const GetHealth&) -> Answer { return std::nullopt; },
          [](const GetHealthCurve&) -> Answer { return std::nullopt; },
          [](const SampleHealth&) -> Answer { return std::nullopt; },
          [](const GetHealthFindings&) -> Answer { return std::nullopt; },
          [&](const DropBranch& drop) -> Answer {
            branches_.drop(drop.branch);
            return describe_status(recorder_);
          },
          [](const SaveTrace&) -> Answer { return std::nullopt; },
          [&](const GetTraceFile&) -> Answer { return describe_file(recorder_); },
          [](const GetSource&) -> Answer { return std::nullopt; },
          [](const GetMemoryCurve&) -> Answer { return std::nullopt; },
          [](const GetMemoryState&) -> Answer { return std::nullopt; },
          [](const GetRecomputeSavings&) -> Answer { return std::nullopt; },
          [&](const GetCellRuns& get) -> Answer { return describe_cell_runs(recorder_, get.count); },
          [](const MakeComparison&) -> Answer { return std::nullopt; },
          [](const GetComparisonRows&) -> Answer { return std::nullopt; },
          [](const FindComparisonRow&) -> Answer { return std::nullopt; },
          [](const CompareOperands&) -> Answer { return std::nullopt; },
          [](const FindFirstDifference&) -> Answer { return std::nullopt; },
          [](const GetComparisonTile&) -> Answer { return std::nullopt; },
          [](const GetComparisonCurves&) -> Answer { return std::nullopt; },
          [&](const DropComparison& drop) -> Answer {
            comparisons_.drop(drop.comparison);
            return describe_status(recorder_);
          },
          [](const Hello&) -> Answer { return std::nullopt; },
          [](const Cancel&) -> Answer { return std::nullopt; },
      },
      request);
}

Jobs::Work Answers::later(const protocol::Request& request) {
  using namespace protocol;
  // `work`(cancel, report) gives the reply.
  const auto job = [](auto work) -> Jobs::Work {
    return [work](const CancelFlag& cancel, const Jobs::Report& report) {
      return guarded(cancel, [&]() -> Reply { return work(cancel, report); });
    };
  };
  return std::visit(
      Cases{
          [&](const GetTape& get) {
            return job([this, get](const CancelFlag& cancel, const Jobs::Report&) {
              return tapes_.read(get, &cancel);
            });
          },
          [&](const FindRecords& find) {
            return job([this, find](const CancelFlag& cancel, const Jobs::Report&) {
              return find_records(recorder_, find, &cancel);
            });
          },
          [&](const GetTile& get) {
            return job([this, get](const CancelFlag& cancel, const Jobs::Report& report) {
              return tile(get, cancel, report);
            });
          },
          [&](const GetStatistics& get) {
            return job([this, get](const CancelFlag& cancel, const Jobs::Report& report) {
              return statistics(get, cancel, report);
            });
          },
          [&](const Pin& set) {
            return job([this, set](const CancelFlag& cancel, const Jobs::Report& report) {
              return pin(set, cancel, report);
            });
          },
          [&](const Why& ask) {
            return job([this, ask](const CancelFlag& cancel, const Jobs::Report& report) {
              return why(ask, cancel, report);
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
            return job([this, make](const CancelFlag& cancel, const Jobs::Report& report) {
              const Jobs::Report quietly = [](const protocol::Progress&) {};  // the branch tells of its own
              return branches_.make(make, finder(cancel, quietly), cancel, report);
            });
          },
          [&](const GetBranchTile& get) {
            return job([this, get](const CancelFlag& cancel, const Jobs::Report& report) {
              return branch_tile(get, cancel, report);
            });
          },
          [&](const GetBranchStatistics& get) {
            return job([this, get](const CancelFlag& cancel, const Jobs::Report& report) {
              return branch_statistics(get, cancel, report);
            });
          },
          [&](const GetBranchPreviews& get) {
            return job([this, get](const CancelFlag& cancel, const Jobs::Report& report) {
              return branches_.previews(get, finder(cancel, report), cancel);
            });
          },
          [&](const TakeOver& take) {
            return job([this, take](const CancelFlag& cancel, const Jobs::Report& report) {
              return take_over(take, cancel, report);
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
          [](const GetTraceFile&) { return Jobs::Work(); },
          [&](const GetMemoryCurve& get) {
            return job([this, get](const CancelFlag& cancel, const Jobs::Report&) {
              return memory_.curve(get, &cancel);
            });
          },
          [&](const GetMemoryState& get) {
            return job([this, get](const CancelFlag& cancel, const Jobs::Report&) {
              return memory_.state(get, &cancel);
            });
          },
          [&](const GetRecomputeSavings& get) {
            return job([this, get](const CancelFlag& cancel, const Jobs::Report&) {
              return memory_.savings(get, &cancel);
            });
          },
          [&](const GetHealth& get) {
            return job([this, get](const CancelFlag& cancel, const Jobs::Report&) {
              return health_.table(get, &cancel);
            });
          },
          [&](const GetHealthCurve& get) {
            return job([this, get](const CancelFlag& cancel, const Jobs::Report&) {
              return health_.curve(get, &cancel);
            });
          },
          [&](const SampleHealth& sample) {
            return job([this, sample](const CancelFlag& cancel, const Jobs::Report& report) {
              return health_.sample(sample, finder(cancel, report), &cancel);
            });
          },
          [&](const GetHealthFindings& get) {
            return job([this, get](const CancelFlag& cancel, const Jobs::Report& report) {
              return health_findings(get, cancel, report);
            });
          },
          [](const DropBranch&) { return Jobs::Work(); },
          [](const GetCellRuns&) { return Jobs::Work(); },
          [](const DropComparison&) { return Jobs::Work(); },
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
              return comparisons_.operands(compare, finder(cancel, report), cancel);
            });
          },
          [&](const FindFirstDifference& ask) {
            return job([this, ask](const CancelFlag& cancel, const Jobs::Report& report) {
              const Jobs::Report quietly = [](const protocol::Progress&) {};  // the search tells of its own
              return comparisons_.first_difference(ask, finder(cancel, quietly), cancel, report);
            });
          },
          [&](const GetComparisonTile& get) {
            return job([this, get](const CancelFlag& cancel, const Jobs::Report& report) {
              return comparison_tile(get, cancel, report);
            });
          },
          [&](const GetComparisonCurves& get) {
            return job(
                [this, get](const CancelFlag&, const Jobs::Report&) { return comparisons_.curves(get); });
          },
          [](const GetStatus&) { return Jobs::Work(); },
          [](const GetRecords&) { return Jobs::Work(); },
          [](const GetSeries&) { return Jobs::Work(); },
          [](const GetPictures&) { return Jobs::Work(); },
          [](const SetGate&) { return Jobs::Work(); },
          [](const SetOptions&) { return Jobs::Work(); },
          [](const SetBreakpoints&) { return Jobs::Work(); },
          [](const Hello&) { return Jobs::Work(); },
          [](const Cancel&) { return Jobs::Work(); },
      },
      request);
}

FindTensor Answers::finder(const CancelFlag& cancel, const Jobs::Report& report) {
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

// Between two stops the values change under the eyes of whoever looks at them, so nothing is shown.
protocol::Reply Answers::ask_host(const HostRequest& request, const CancelFlag& cancel) {
  if (!host_)
    return protocol::Failure{"This session has no Python whose variables could be shown.", "bad_request"};
  const std::uint64_t stop = std::visit([](const auto& message) { return stop_of(message); }, request);
  const GateStatus gate = recorder_.gate().status();
  if (stop != gate.stopped_before && stop != 0)
    return protocol::Failure{"The program has gone on since.", "gone"};
  if (stop == 0 && gate.stopped_before == 0 && !recorder_.running_cell().empty())
    return protocol::Failure{"A cell is running: variables are shown when it stops or ends.", "running"};
  return host_->answer(request, cancel);
}

protocol::Reply Answers::set_gate(const protocol::SetGate& request) {
  if (!recorder_.recording() && request.command != GateCommand::run)
    return protocol::Failure{"The recording is off: ops do not pass the gate, so nothing can stop there.",
                             "bad_request"};
  recorder_.gate().command(request.command);
  return describe_status(recorder_);
}

protocol::Reply Answers::set_options(const protocol::SetOptions& request) {
  if (!one_at_most(request.recording) || !one_at_most(request.break_at_cell_start) ||
      !one_at_most(request.budget_bytes) || !one_at_most(request.keep_everything))
    return protocol::Failure{"set_options: each option has at most one value.", "bad_request"};
  for (const bool on : request.recording) recorder_.set_recording(on);
  for (const bool on : request.break_at_cell_start) recorder_.gate().set_break_at_cell_start(on);
  for (const std::uint64_t bytes : request.budget_bytes) recorder_.set_budget(bytes);
  for (const bool on : request.keep_everything) recorder_.values().set_keep_everything(on);
  return describe_status(recorder_);
}

protocol::Reply Answers::tile(const protocol::GetTile& request, const CancelFlag& cancel,
                              const Jobs::Report& report) {
  const FoundValue found = find(request.tensor, cancel, report);
  protocol::Tile tile = make_tile(found.value, request, &cancel);
  tile.source = source_of(found);
  return tile;
}

protocol::Reply Answers::statistics(const protocol::GetStatistics& request, const CancelFlag& cancel,
                                    const Jobs::Report& report) {
  check_bins("get_statistics", request.bins);
  if (const auto kept = recorder_.values().statistics_of_dropped(request.tensor))
    return describe_summary(request.tensor, *kept, "kept statistics");
  const FoundValue found = find(request.tensor, cancel, report);
  return describe_summary(request.tensor, summarize(found.value, request.bins, true, &cancel),
                          source_of(found));
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
  const auto value = [&](std::uint64_t tensor) { return find(tensor, cancel, report).value; };
  Past past(recorder_, value, &cancel, report);
  return answer(past, request);
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
  const Tensor value = comparisons_.value(request, finder(cancel, report), cancel);
  protocol::Tile tile = make_tile(value, request.tile, &cancel);
  tile.source = "recomputed";
  return tile;
}

// While the program computes, what it reads of a variable must not depend on when somebody clicked.
protocol::Reply Answers::take_over(const protocol::TakeOver& request, const CancelFlag& cancel,
                                   const Jobs::Report& report) {
  if (recorder_.gate().status().stopped_before == 0 && !recorder_.running_cell().empty())
    return protocol::Failure{"A cell is running: a variable takes a value when it stops or ends.", "running"};
  return branches_.take_over(request, finder(cancel, report), cancel);
}

}  // namespace tapedeck::debug
