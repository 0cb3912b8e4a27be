// Maps each request of the debug protocol to its reply. Independent of sockets.
#pragma once

#include <condition_variable>
#include <mutex>
#include <variant>

#include "engine/debug/compare/comparisons.h"
#include "engine/debug/group_index.h"
#include "engine/debug/health/health.h"
#include "engine/debug/host_inspector.h"
#include "engine/debug/jobs.h"
#include "engine/debug/lost_values.h"
#include "engine/debug/memory/memory.h"
#include "engine/debug/profile/profile.h"
#include "engine/debug/tape_index.h"
#include "engine/debug/vjp/vjp_parts.h"
#include "engine/debug/what_if.h"
#include "engine/record/replay/replay.h"

namespace tapedeck::debug {

class Answers {
 public:
  /// `host`: nullptr without a host language whose variables could be inspected.
  explicit Answers(Recorder& recorder, const ReplayLimits& limits = {}, HostInspector* host = nullptr)
      : recorder_(recorder),
        limits_(limits),
        host_(host),
        tapes_(recorder),
        groups_(recorder),
        lost_(recorder),
        vjps_(recorder),
        branches_(recorder),
        memory_(recorder),
        profiles_(recorder),
        comparisons_(recorder, branches_),
        health_(recorder) {}

  /// The reply to a quick request, or the job of one that may take long; the job never throws. Hello and
  /// Cancel belong to the server: a Failure.
  using Answer = std::variant<protocol::Reply, Jobs::Work>;
  Answer reply_or_work(const protocol::Request& request);

 private:
  protocol::Reply set_gate(const protocol::SetGate& request);
  protocol::Reply set_options(const protocol::SetOptions& request);
  protocol::Breakpoints set_breakpoints(const protocol::SetBreakpoints& request);
  protocol::Reply tile(const protocol::GetTile& request, const CancelFlag& cancel,
                       const Jobs::Report& report);
  protocol::Reply statistics(const protocol::GetStatistics& request, const CancelFlag& cancel,
                             const Jobs::Report& report);
  protocol::Reply element(const protocol::FindElement& request, const CancelFlag& cancel,
                          const Jobs::Report& report);
  protocol::Reply pin(const protocol::Pin& request, const CancelFlag& cancel, const Jobs::Report& report);
  protocol::Reply why(const protocol::Why& request, const CancelFlag& cancel, const Jobs::Report& report);
  protocol::Reply health_findings(const protocol::GetHealthFindings& request, const CancelFlag& cancel,
                                  const Jobs::Report& report);
  /// Of values on the host.
  FindTensor finder(const CancelFlag& cancel, const Jobs::Report& report);
  /// The same without copying values to the host.
  FindTensor finder_there(const CancelFlag& cancel, const Jobs::Report& report);
  protocol::Reply version(const protocol::GetVersion& request) const;
  protocol::Reply ask_host(const HostRequest& request, const CancelFlag& cancel);
  protocol::Reply take_over(const protocol::TakeOver& request, const CancelFlag& cancel,
                            const Jobs::Report& report);
  protocol::Reply branch_tile(const protocol::GetBranchTile& request, const CancelFlag& cancel,
                              const Jobs::Report& report);
  protocol::Reply branch_statistics(const protocol::GetBranchStatistics& request, const CancelFlag& cancel,
                                    const Jobs::Report& report);
  protocol::Reply comparison_tile(const protocol::GetComparisonTile& request, const CancelFlag& cancel,
                                  const Jobs::Report& report);
  FoundValue find(std::uint64_t tensor, const CancelFlag& cancel, const Jobs::Report& report);

  Recorder& recorder_;
  const ReplayLimits limits_;
  HostInspector* const host_;
  TapeIndex tapes_;
  GroupIndex groups_;
  LostValues lost_;
  VjpReader vjps_;
  Branches branches_;
  MemoryReader memory_;
  Profiles profiles_;
  Comparisons comparisons_;
  HealthReader health_;
  // One replay at a time, so that two requests about one tensor recompute it once.
  std::mutex replay_mutex_;
  std::condition_variable replay_ended_;
  bool replaying_ = false;
  std::mutex breakpoints_mutex_;               ///< guards what follows
  std::vector<std::uint8_t> breakpoints_set_;  ///< the request that set those there are
  std::uint64_t breakpoints_lines_ = 0;        ///< Breakpoints::lines_version() behind it
  protocol::Breakpoints breakpoints_answer_;
};

}  // namespace tapedeck::debug
