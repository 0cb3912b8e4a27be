// The insides of Document: cells, what was saved of them, and the undo of structure.
#pragma once

#include <QHash>
#include <vector>

#include "app/notebook/document/document.h"
#include "app/notebook/document/nbformat.h"

namespace tapedeck::app {

/// A change that undoStructure() undoes, alone or with others.
struct Change {
  enum class Kind { insert, remove, move, convert, exchange, text, results };
  Kind kind;
  int index = 0;
  int to = 0;          ///< move
  CellPointer cell;    ///< insert, remove: the cell; convert: as it is afterwards; exchange: the other one
  CellPointer before;  ///< convert, results: as it was
  QString other = {};  ///< text: what undo, or redo, brings
  QString made = {};   ///< text: what the change made of the source
};
using ChangeStep = std::vector<Change>;

/// What the file on disk has of a cell, to tell whether it changed.
struct SavedCell {
  QString id;
  CellType type;
  QString source;
  quint64 revision;
};

struct SavedState {
  std::vector<SavedCell> cells;
  nlohmann::ordered_json own;  ///< ownMetadata of the notebook
};

struct Document::Private {
  NotebookData notebook;
  QString path;
  QString originName;
  QString originFolder;
  QByteArray fileBytes;  ///< of the file as it was loaded or saved
  nlohmann::ordered_json languageInfo;
  nlohmann::ordered_json kernelSpec;
  bool detached = false;  ///< recovered, or its file is gone: differs from the file on disk until saved

  std::vector<ChangeStep> undo;
  std::vector<ChangeStep> redo;
  int openSteps = 0;       ///< UndoSteps that live
  bool stepBegun = false;  ///< the last of `undo` is theirs

  std::shared_ptr<const SavedState> saved;
  /// Cell ids to places, made when a place is asked for; of two cells with one id, the first.
  mutable QHash<QString, int> places;
  mutable bool placesKnown = false;
  int placeOf(const QString& id) const;

  std::vector<bool> changed;  ///< per cell, against the saved one at the same place
  int changedCount = 0;
  bool announced = false;
  quint64 revisions = 0;
  /// Of a cell whose own metadata was set: what it and the revision were before, and the revision since.
  struct OwnBefore {
    nlohmann::ordered_json value;
    quint64 before = 0, since = 0;
  };
  QHash<QString, OwnBefore> ownBefore;

  const CellData& at(int index) const { return *notebook.cells.at(static_cast<std::size_t>(index)); }
  /// The cell to be written to: a copy of its own where a snapshot or an undo step shares it.
  CellData& edit(int index);
  CellData& editResults(int index);
  quint64 nextRevision() { return ++revisions; }

  bool locked = false;  ///< read-only: it shows a program's or a trace's text

  void replace(NotebookData data, const QByteArray& bytes, const QString& file);
  std::shared_ptr<const SavedState> state() const;
  void rememberSaved(std::shared_ptr<const SavedState> written);
  bool modified() const;
  nlohmann::ordered_json own() const;
  void compareWithSaved(int index);
  void compareAll();
  void announceModified(Document* document);
  void announceOutput(Document* document, int index, const OutputChange& change);

  void push(Change change);
  void make(Document* document, Change change);  ///< pushes and applies it
  void apply(Document* document, Change& change);
  void revert(Document* document, Change& change);
  void insert(Document* document, int index, const CellPointer& cell);
  CellPointer remove(Document* document, int index);
  void move(Document* document, int from, int to);
  void convert(Document* document, int index, const CellPointer& cell);
  void exchange(Document* document, Change& change);
  void exchangeText(Document* document, Change& change);

 private:
  bool differs(std::size_t index) const;
};

}  // namespace tapedeck::app
