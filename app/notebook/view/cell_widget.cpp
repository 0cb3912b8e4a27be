#include "app/notebook/view/cell_widget.h"

#include <QFileInfo>
#include <QLineEdit>
#include <QScopedValueRollback>

#include "app/notebook/output/input_line.h"
#include "app/notebook/output/output_area.h"
#include "app/notebook/output/rich_output.h"
#include "app/notebook/output/static_text.h"
#include "app/notebook/view/cell_metrics.h"
#include "app/notebook/view/code_editor.h"

namespace tapedeck::app {

CellWidget::CellWidget(Document* document, const QString& id, const NotebookTheme& theme, QWidget* parent)
    : Block(parent), document_(document), id_(id), theme_(theme) {
  shownType_ = cell().type;
  // An empty Markdown cell would render as nothing to click at.
  rendering_ = !cell().source.trimmed().isEmpty();
  updateAccessibleName();
}

CellWidget::~CellWidget() = default;

const Cell& CellWidget::cell() const {
  static const Cell gone;
  const int index = document_->indexOf(id_);
  return index < 0 ? gone : document_->cell(index);
}

// ---- contents ----

void CellWidget::realize() {
  if (realized_) return;
  realized_ = true;
  shownType_ = cell().type;
  showsSource() ? makeEditor() : makeRendered();
  outputsChanged();
  contentsChanged();
}

bool CellWidget::showsSource() const {
  return shownType_ != CellType::markdown || !rendering_;
}

void CellWidget::makeEditor() {
  const auto language = shownType_ == CellType::code       ? CodeEditor::Language::python
                        : shownType_ == CellType::markdown ? CodeEditor::Language::markdown
                                                           : CodeEditor::Language::none;
  editor_ = new CodeEditor(language, theme_, this);
  editor_->showSource(cell().source);
  editor_->SendScintilla(QsciScintillaBase::SCI_EMPTYUNDOBUFFER);
  connect(editor_, &CodeEditor::heightChanged, this, &Block::contentsChanged);
  connect(editor_, &QsciScintilla::textChanged, this, [this] {
    if (!filling_) emit sourceEdited(editor_->source());
  });
  editor_->setMark(markLine_, markPending_);
  updateAccessibleName();
  editor_->show();
  emit editorMade(editor_);
}

void CellWidget::makeRendered() {
  rendered_ = new RichOutput(theme_, this);
  rendered_->setWrap(QTextOption::WrapAtWordBoundaryOrAnywhere);
  connect(rendered_->view(), &StaticText::doubleClicked, this, &CellWidget::editRequested);
  fillRendered();
  updateAccessibleName();
  rendered_->show();
}

void CellWidget::fillRendered() {
  const int index = document_->indexOf(id_);
  if (index < 0) return;
  const auto& members = document_->cellMembers(index);
  const QString path = document_->path();
  RichText text;
  text.source = cell().source.trimmed().isEmpty() ? "*Empty Markdown cell*" : cell().source;
  if (members.contains("attachments")) text.pictures.setAttachments(members["attachments"]);
  if (!path.isEmpty()) text.pictures.setFolder(QFileInfo(path).absolutePath());
  rendered_->setText(text);
}

StaticText* CellWidget::rendered() const {
  return rendered_ == nullptr ? nullptr : rendered_->view();
}

void CellWidget::dropSourceWidgets() {
  for (QWidget* widget : {static_cast<QWidget*>(editor_), static_cast<QWidget*>(rendered_)}) {
    if (widget == nullptr) continue;
    widget->disconnect(this);
    widget->hide();
    widget->deleteLater();
  }
  editor_ = nullptr;
  rendered_ = nullptr;
}

void CellWidget::sourceChanged() {
  if (cell().type != shownType_) {
    shownType_ = cell().type;
    rendering_ = false;
    if (realized_) {
      const bool focused = hasEditorFocus();
      dropSourceWidgets();
      makeEditor();
      if (focused) editor_->setFocus();
    }
  } else if (editor_ != nullptr) {
    const QScopedValueRollback filling(filling_, true);
    editor_->showSource(cell().source);
  } else if (rendered_ != nullptr) {
    fillRendered();
  }
  updateAccessibleName();
  contentsChanged();
}

void CellWidget::outputsChanged() {
  update();
  updateAccessibleName();
  if (!realized_) return contentsChanged();
  const nlohmann::ordered_json& outputs = cell().outputs;
  if (outputs_ == nullptr && outputs.empty()) return;
  if (outputs_ == nullptr) {
    outputs_ = new OutputArea(theme_, this);
    connect(outputs_, &OutputArea::placeClicked, this, &CellWidget::placeClicked);
    outputs_->show();
  }
  outputs_->setOutputs(outputs);
}

void CellWidget::setTheme(const NotebookTheme& theme) {
  theme_ = theme;
  if (editor_ != nullptr) editor_->setTheme(theme);
  if (rendered_ != nullptr) rendered_->setTheme(theme);
  if (outputs_ != nullptr) {
    outputs_->setTheme(theme);
    outputs_->setOutputs(cell().outputs);
  }
  contentsChanged();
  update();
}

// ---- editing ----

void CellWidget::edit() {
  realize();
  if (editor_ == nullptr) {
    rendering_ = false;
    dropSourceWidgets();
    makeEditor();
    contentsChanged();
  }
  editor_->setFocus();
}

void CellWidget::renderMarkdown() {
  if (shownType_ != CellType::markdown || rendering_) return;
  rendering_ = true;
  if (realized_) {
    dropSourceWidgets();
    makeRendered();
  }
  contentsChanged();
  update();
}

bool CellWidget::hasEditorFocus() const {
  return editor_ != nullptr && editor_->hasFocus();
}

void CellWidget::setMark(int line, bool pending) {
  markLine_ = line;
  markPending_ = pending;
  if (editor_ != nullptr) editor_->setMark(line, pending);
}

// ---- input ----

void CellWidget::askInput(const QString& prompt, bool password) {
  endInput();
  input_ = new InputLine(prompt, password, theme_, this);
  connect(input_, &InputLine::given, this, &CellWidget::inputGiven);
  input_->show();
  contentsChanged();
}

void CellWidget::endInput() {
  if (input_ == nullptr) return;
  input_->hide();
  input_->deleteLater();
  input_ = nullptr;
  contentsChanged();
}

// ---- state ----

void CellWidget::setState(CellState state) {
  if (state != CellState::busy && state != CellState::queued) endInput();
  state_ = state;
  updateAccessibleName();
  update();
}

void CellWidget::setCurrent(bool current, bool editing) {
  if (current == current_ && editing == editing_) return;
  current_ = current;
  editing_ = editing;
  updateAccessibleName();
  update();
}

void CellWidget::turnSpinner(int angle) {
  if (state_ != CellState::busy) return;
  spinner_ = angle;
  update(QRect(0, 0, gutterWidth(theme_), height()));
}

void CellWidget::setNumber(int number) {
  if (number == number_) return;
  number_ = number;
  updateAccessibleName();
}

void CellWidget::updateAccessibleName() {
  const QString kind = shownType_ == CellType::code       ? "Code cell"
                       : shownType_ == CellType::markdown ? "Markdown cell"
                                                          : "Raw cell";
  QString name = QString("%1 %2").arg(kind).arg(number_);
  if (!stateWord().isEmpty()) name += ", " + stateWord();
  setAccessibleName(name);
  if (editor_ != nullptr)
    editor_->setAccessibleName(QString("Source of %1 %2").arg(kind.toLower()).arg(number_));
  if (rendered_ != nullptr) rendered_->view()->setAccessibleName(QString("Markdown of cell %1").arg(number_));
}

}  // namespace tapedeck::app
