// The debug protocol's messages: data only. Each is one struct with one field list; names, encoding and
// decoding come from that list (codec.h). README.md beside this file describes the conversation.
#pragma once

#include <variant>

#include "engine/protocol/breakpoints.h"
#include "engine/protocol/compare.h"
#include "engine/protocol/frames.h"
#include "engine/protocol/replies.h"
#include "engine/protocol/requests.h"
#include "engine/protocol/trace_file.h"
#include "engine/protocol/vjp.h"
#include "engine/protocol/what_if.h"
#include "engine/protocol/why.h"

namespace tapedeck::protocol {

using Request =
    std::variant<Hello, GetStatus, GetRecords, GetTape, GetTile, GetStatistics, SetGate, SetOptions, Pin,
                 GetSeries, GetPictures, FindRecords, Why, GetVjp, ExplainElement, GetFrames, GetVariables,
                 Evaluate, Assign, Complete, HoldValue, SummarizeValue, SetBreakpoints, MakeBranch,
                 GetBranchTile, GetBranchStatistics, GetBranchPreviews, TakeOver, DropBranch, GetCellRuns,
                 MakeComparison, GetComparisonRows, FindComparisonRow, CompareOperands, FindFirstDifference,
                 GetComparisonTile, GetComparisonCurves, DropComparison, SaveTrace, GetTraceFile, GetSource,
                 Cancel>;
using Reply = std::variant<Welcome, Refused, Status, Records, TapeRecords, Tile, Statistics, Series, Pictures,
                           FoundRecords, Because, VjpParts, ElementTerms, Frames, Variables, Evaluation,
                           Completions, HeldValue, Breakpoints, Branched, BranchPreviews, TakenOver, CellRuns,
                           Compared, ComparisonRows, ComparisonPlace, ComparedOperands, FirstDifference,
                           ComparisonCurves, TraceSaved, TraceFileInfo, SourceText, Progress, Failure>;

}  // namespace tapedeck::protocol
