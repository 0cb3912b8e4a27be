// The debug protocol's messages: data only. Each is one struct with one field list; names, encoding and
// decoding come from that list (codec.h). README.md beside this file describes the conversation.
#pragma once

#include "engine/protocol/breakpoints.h"
#include "engine/protocol/compare.h"
#include "engine/protocol/frames.h"
#include "engine/protocol/graph_functions.h"
#include "engine/protocol/groups.h"
#include "engine/protocol/health.h"
#include "engine/protocol/memory.h"
#include "engine/protocol/one_of.h"
#include "engine/protocol/past_hits.h"
#include "engine/protocol/profile.h"
#include "engine/protocol/replies.h"
#include "engine/protocol/requests.h"
#include "engine/protocol/trace_file.h"
#include "engine/protocol/vjp.h"
#include "engine/protocol/what_if.h"
#include "engine/protocol/why.h"

namespace tapedeck::protocol {

using Request =
    OneOf<Hello, GetStatus, GetRecords, GetLostRecords, GetTape, GetTile, GetStatistics, FindElement, SetGate,
          SetOptions, Pin, GetSeries, GetPictures, FindRecords, Why, GetVjp, ExplainElement, GetFrames,
          GetVariables, Evaluate, Assign, Complete, HoldValue, GetVersion, SummarizeValue, SetBreakpoints,
          MakeBranch, GetBranchTile, GetBranchStatistics, GetBranchPreviews, TakeOver, DropBranch, SaveTrace,
          GetTraceFile, GetSource, GetMemoryCurve, GetMemoryState, FindNames, GetRecomputeSavings, GetProfile,
          GetProfileTrack, GetProfileTotals, GetProfileFlame, GetProfileSteps, GetProfileCost, GetPeaks,
          GetChromeTrace, GetCellRuns, MakeComparison, GetComparisonRows, FindComparisonRow, CompareOperands,
          FindFirstDifference, CompareLayers, GetComparisonTile, GetComparisonCurves, DropComparison,
          GetHealth, GetHealthCurve, SampleHealth, GetHealthFindings, FindHit, GetRecordGroups,
          GetBranchSeries, GetGraphFunctions, GetGraph, Cancel>;
using Reply =
    OneOf<Welcome, Refused, Status, Records, LostRecords, TapeRecords, Tile, Statistics, FoundElement, Series,
          Pictures, FoundRecords, Because, VjpParts, ElementTerms, Frames, Variables, Evaluation, Completions,
          HeldValue, Breakpoints, Branched, BranchPreviews, TakenOver, TraceSaved, TraceFileInfo, SourceText,
          MemoryCurve, MemoryState, FoundNames, RecomputeSavings, Profile, ProfileTrack, ProfileTotals,
          ProfileFlame, ProfileSteps, ProfileCost, Peaks, ChromeTrace, CellRuns, Compared, ComparisonRows,
          ComparisonPlace, ComparedOperands, FirstDifference, ComparedLayers, ComparisonCurves, Health,
          HealthCurve, HealthSampled, HealthFindings, FoundHit, RecordGroups, GraphFunctions, GraphRows,
          Progress, Failure>;

}  // namespace tapedeck::protocol
