// A session with variables in memory, for the tests of models that ask for them or evaluate code.
#pragma once

#include <QAbstractItemModel>
#include <QCoreApplication>
#include <map>
#include <string>
#include <vector>

#include "inspector/model/variables/frames_model.h"
#include "inspector/model/variables/value_tree.h"
#include "tests/model/fake_source.h"

namespace tapedeck::test {

using inspector::ValueTree;
using protocol::ValueInfo;

inline ValueInfo value(const std::string& name, const std::string& text, const std::string& type = "int") {
  ValueInfo info;
  info.name = name;
  info.text = text;
  info.type = type;
  info.edit = text;
  return info;
}

inline ValueInfo tensorValue(const std::string& name, std::uint64_t id, std::int64_t count) {
  ValueInfo info = value(name, "[0., …]", "Tensor");
  info.tensor = id;
  info.shape = std::vector<std::int64_t>{count};
  info.dtype = "float32";
  info.device = "/cpu:0";
  info.bytes = static_cast<std::uint64_t>(count) * 4;
  info.edit.reset();
  return info;
}

/// A session with variables: what a test puts into the maps is what it answers.
struct World {
  World() {
    source.host = [this](const protocol::Request& request) { return answer(request); };
    session.setSource(&source);
    source.sendStatus();
  }

  protocol::Reply answer(const protocol::Request& request) {
    if (const auto* get = protocol::get_if<protocol::GetFrames>(&request)) {
      protocol::Frames frames{source.status.stopped_before.value_or(0), "MainThread", 0, 0, stack};
      frames.total = static_cast<std::uint32_t>(stack.size());
      frames.moment = get->moment;
      if (get->moment) frames.noted = protocol::if_there(noted);
      if (get->moment && !unknownFunction.empty()) {
        frames.frames.clear();
        frames.total = 0;
        frames.noted_cell = "c";
        frames.unknown_function = unknownFunction;
      }
      return frames;
    }
    if (const auto* get = protocol::get_if<protocol::GetVariables>(&request)) {
      std::string key(protocol::names(get->place.scope)[static_cast<std::size_t>(get->place.scope)]);
      key += "/" + get->place.name.value_or("");
      for (const auto step : get->place.path) key += "/" + std::to_string(step);
      const auto& rows = places[key];
      protocol::Variables page{rows.size(), get->first, {}};
      for (std::size_t i = get->first; i < rows.size() && i < get->first + get->count; ++i)
        page.variables.push_back(rows[i]);
      return page;
    }
    if (const auto* evaluate = protocol::get_if<protocol::Evaluate>(&request))
      return evaluations[evaluate->code];
    if (const auto* assign = protocol::get_if<protocol::Assign>(&request)) {
      protocol::Evaluation answer;
      if (assign->code == "wrong") answer.error = "NameError: name 'wrong' is not defined";
      answer.note = protocol::if_there(assignNote);
      return answer;
    }
    if (const auto* hold = protocol::get_if<protocol::HoldValue>(&request); hold && gone)
      return protocol::Failure{"The program has gone on since.", "gone"};
    if (const auto* hold = protocol::get_if<protocol::HoldValue>(&request))
      return protocol::HeldValue{{7, "float32", {3}, "/cpu:0", hold->place.name.value_or(""), "", 0}};
    if (protocol::holds_alternative<protocol::SummarizeValue>(request)) {
      protocol::Statistics statistics;
      statistics.finite = 4;
      statistics.histogram = {1, 2, 1};
      return statistics;
    }
    if (protocol::holds_alternative<protocol::Complete>(request))
      return protocol::Completions{3, {"reduce_mean"}};
    return protocol::Failure{"not here", "bad_request"};
  }

  void stopAt(quint64 record) {
    source.status.gate = protocol::GateState::stopped;
    source.status.stopped_before = source.status.records = record;
    source.status.running_cell = "c";
    source.sendStatus();
    settle();
  }
  void endCell() {
    source.status.gate = protocol::GateState::open;
    source.status.stopped_before.reset();
    source.status.running_cell.reset();
    ++source.status.cells_ended;
    source.sendStatus();
    settle();
  }
  void settle() {
    for (int i = 0; i < 20; ++i) QCoreApplication::processEvents();
  }

  FakeSource source;
  inspector::Session session;
  inspector::CellNames cells;
  inspector::FramesModel frames{&session, &cells};
  std::vector<protocol::Frame> stack;
  std::string assignNote;       ///< what an assignment is answered with
  bool gone = false;            ///< the program went on before its values were held
  std::uint64_t noted = 0;      ///< of which stop a moment's frames are; 0: there was none
  std::string unknownFunction;  ///< that a moment's op ran in, after a cell began and before any stop
  std::map<std::string, std::vector<ValueInfo>> places;
  std::map<std::string, protocol::Evaluation> evaluations;
};

/// The rows as text, one a line, indented.
inline QString text(const QAbstractItemModel& model, const QModelIndex& parent = {}, int depth = 0) {
  QString all;
  for (int row = 0; row < model.rowCount(parent); ++row) {
    const QModelIndex index = model.index(row, 0, parent);
    const QString shown = index.siblingAtColumn(ValueTree::Value).data().toString();
    all += QString(2 * depth, ' ') + index.data().toString() + (shown.isEmpty() ? "" : " = " + shown) + "\n";
    all += text(model, index, depth + 1);
  }
  return all;
}

}  // namespace tapedeck::test
