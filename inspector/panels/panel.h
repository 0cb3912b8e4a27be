// A panel as the window knows it: a descriptor, and the widget that it makes. Each folder of
// inspector/panels exports one descriptor; app/shell/panels/panel_list.cpp lists them.
#pragma once

#include <QKeySequence>
#include <QList>
#include <QMap>
#include <QString>
#include <QWidget>
#include <functional>

#include "inspector/model/compare/trace_reader.h"

class QAction;

namespace tapedeck::inspector {

class Bookmarks;
class BreakpointsModel;
class CellNames;
class FramesModel;
class PictureModel;
class SeriesModel;
class Session;
class WhyActions;
class WatchModel;
class WhatIfActions;

/// What panels read: every window has all of it, and it outlives them.
struct PanelContext {
  Session& session;
  SeriesModel& series;
  PictureModel& pictures;
  CellNames& cells;
  WhyActions& why;
  FramesModel& frames;
  WatchModel& watches;
  BreakpointsModel& breakpoints;
  WhatIfActions& whatIf;
  MakeTraceReader traceReaders = {};     ///< for trace files beside the session; empty: none can be read
  const Bookmarks* bookmarks = nullptr;  ///< nullptr: there are none
  QList<QAction*> recordActions = {};    ///< of the window, on the cursor's record, for context menus
};

/// Keys that a widget handles itself, for the list of keys.
struct HandledKeys {
  QList<QKeySequence> keys;
  QString text;
};

class Panel : public QWidget {
  Q_OBJECT
 public:
  using QWidget::QWidget;

  /// The panel has nothing to show. The window gives it no room then, unless the user asks for it.
  virtual bool isEmpty() const = 0;
  /// For the panel's menu; each with its key and a tooltip.
  virtual QList<QAction*> menuActions() const;
  /// Those that write what is shown into a file. They are in the menu File, and their keys work in the
  /// whole window.
  virtual QList<QAction*> exportActions() const { return {}; }

  /// What keyPressEvent of the panel, or of what is in it, does.
  virtual QList<HandledKeys> handledKeys() const { return {}; }

 signals:
  void emptyChanged();
  void done(const QString& sentence);    ///< for the status bar: "Wrote tape.svg"
  void failed(const QString& sentence);  ///< for the message bar
  /// The user wants to see this line of a cell, or of a program's file. `enter`: the keyboard goes there,
  /// too.
  void lineWanted(const QString& cell, int line, bool enter);
  void guideWanted();  ///< the guide's page of the panel
};

/// A panel that shows the session's ops: empty until there is one.
class SessionPanel : public Panel {
 public:
  explicit SessionPanel(Session& session, QWidget* parent = nullptr);
  bool isEmpty() const override { return empty_; }

 private:
  void look();

  Session& session_;
  bool empty_ = true;
};

/// A panel's place until the user moves it. Panels of one area are in rows from the top, those of one row in
/// columns from the left; those of one row and column are tabs.
struct PanelPlace {
  enum class Area { left, right, below };
  Area area = Area::right;
  int row = 0;
  int column = 0;
  double width = 0.5, height = 0.5;  ///< of the window's
};

// The workspaces that every window has: which panels are shown, and where.
inline const QString workspace_write = QStringLiteral("write");
inline const QString workspace_debug = QStringLiteral("debug");
inline const QString workspace_plots = QStringLiteral("plots");
inline const QString workspace_analyze = QStringLiteral("analyze");
inline const QString workspace_present = QStringLiteral("present");

struct PanelDescriptor {
  QString id;     ///< for settings: never changes
  QString title;  ///< as menus and the panel's frame show it
  QKeySequence key;
  QString tip;
  QMap<QString, PanelPlace> places;  ///< by workspace; not shown in those that are left out
  QSize minimum;  ///< constant, whatever the panel shows: a change inside it moves no other panel
  std::function<Panel*(const PanelContext&)> create;
};

}  // namespace tapedeck::inspector
