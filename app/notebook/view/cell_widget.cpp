#include "app/notebook/view/cell_widget.h"

#include <QAbstractTextDocumentLayout>
#include <QClipboard>
#include <QFileInfo>
#include <QGuiApplication>
#include <QLineEdit>
#include <QScopedValueRollback>
#include <QTextBlock>

#include "app/notebook/output/formula_text.h"
#include "app/notebook/output/html/maths.h"
#include "app/notebook/output/output_area.h"
#include "app/notebook/output/rich_output.h"
#include "app/notebook/output/text/input_line.h"
#include "app/notebook/output/text/static_text.h"
#include "app/notebook/view/cell_language.h"
#include "app/notebook/view/cell_metrics.h"
#include "app/notebook/view/code_editor.h"
#include "app/notebook/view/notebook_macros.h"
#include "app/notebook/view/source_excerpt.h"

namespace tapedeck::app {

CellWidget::CellWidget(Document* document, const QString& id, const NotebookTheme& theme, QWidget* parent)
    : Block(parent), document_(document), id_(id), theme_(theme) {
  shownType_ = cell().type;
  // An empty Markdown cell would render as nothing to click at.
  rendering_ = !cell().source.trimmed().isEmpty();
  findTimes();
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
  if (stale_) restyle();
  if (realized_) return;
  realized_ = true;
  shownType_ = cell().type;
  showsSource() ? makeEditor() : makeRendered();
  OutputNews everything;
  everything.all = true;
  outputsChanged(everything);
  contentsChanged();
}

bool CellWidget::showsSource() const {
  return shownType_ != CellType::markdown || !rendering_;
}

void CellWidget::makeEditor() {
  editor_ = new CodeEditor(languageOf(shownType_), theme_, this);
  filled_ = false;
  fillEditor();
  editor_->SendScintilla(QsciScintillaBase::SCI_EMPTYUNDOBUFFER);
  connect(editor_, &CodeEditor::heightChanged, this, &Block::contentsChanged);
  connect(editor_, &QsciScintilla::textChanged, this, [this] {
    if (filling_) return;
    const QString source = editor_->source();
    // Pasted, say: before anything of it is coloured.
    if (!whole_ && needsExcerpt(source)) {
      whole_ = true;
      editor_->setPlain();
    }
    if (whole_) updateExcerptBar(editor_->cutsLines() ? longLinesSentence() : QString(), true);
    emit sourceEdited(source);
  });
  connect(editor_, &CodeEditor::wholeWanted, this, &CellWidget::showWhole);
  editor_->setMark(markLine_, markPending_);
  editor_->setBreakpoints(breakpoints_);
  updateAccessibleName();
  editor_->show();
  emit editorMade(editor_);
}

void CellWidget::fillEditor() {
  const QScopedValueRollback filling(filling_, true);
  const QString source = cell().source;
  const auto excerpt = whole_ ? std::nullopt : excerptOf(source);
  if (whole_) editor_->setPlain();
  editor_->setReadOnly(false);
  if (excerpt || !filled_)
    editor_->showSource(excerpt ? excerpt->text : source);
  else
    editor_->changeSource(source);
  filled_ = !excerpt.has_value();
  editor_->setReadOnly(excerpt.has_value() || document_->locked());
  if (excerpt)
    updateExcerptBar(excerpt->sentence, false);
  else
    updateExcerptBar(editor_->cutsLines() ? longLinesSentence() : QString(), true);
}

void CellWidget::updateExcerptBar(const QString& sentence, bool editable) {
  if (sentence.isEmpty() == (excerpt_ == nullptr) && sentence.isEmpty()) return;
  contentsChanged();
  if (sentence.isEmpty()) {
    excerpt_->hide();
    std::exchange(excerpt_, nullptr)->deleteLater();
    return;
  }
  if (excerpt_ == nullptr) {
    excerpt_ = new ExcerptBar(theme_, this);
    connect(excerpt_, &ExcerptBar::wholeWanted, this, &CellWidget::showWhole, Qt::QueuedConnection);
    connect(excerpt_, &ExcerptBar::copyWanted, this,
            [this] { QGuiApplication::clipboard()->setText(cell().source); });
    excerpt_->show();
  }
  excerpt_->setSentence(sentence, editable);
}

void CellWidget::showWhole() {
  if (excerpt_ == nullptr || whole_) return;
  showWholeSource();
  editor_->setFocus();
}

void CellWidget::showWholeSource() {
  if (excerpt_ == nullptr || whole_) return;
  whole_ = true;
  fillEditor();
  editor_->SendScintilla(QsciScintillaBase::SCI_EMPTYUNDOBUFFER);
  contentsChanged();
}

void CellWidget::makeRendered() {
  rendered_ = new RichOutput(theme_, this);
  rendered_->setWrap(QTextOption::WrapAtWordBoundaryOrAnywhere);
  rendered_->setFolds(folds_);
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
  if (macros_ != nullptr) text.macros = macros_->before(id_);
  rendered_->setText(text);
}

void CellWidget::updateMacros() {
  if (macros_ == nullptr || (rendered_ == nullptr && outputs_ == nullptr)) return;
  const QStringList macros = macros_->before(id_);
  if (rendered_ != nullptr) rendered_->setMacros(macros);
  if (outputs_ != nullptr) outputs_->setMacros(macros);
}

StaticText* CellWidget::rendered() const {
  return rendered_ == nullptr ? nullptr : rendered_->view();
}

void CellWidget::dropSourceWidgets() {
  if (rendered_ != nullptr) folds_ = rendered_->folds();
  for (QWidget* widget : {static_cast<QWidget*>(editor_), static_cast<QWidget*>(rendered_)}) {
    if (widget == nullptr) continue;
    widget->disconnect(this);
    widget->hide();
    widget->deleteLater();
  }
  editor_ = nullptr;
  rendered_ = nullptr;
  delete std::exchange(excerpt_, nullptr);
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
    fillEditor();
  } else if (rendered_ != nullptr) {
    fillRendered();
  }
  updateAccessibleName();
  contentsChanged();
}

void CellWidget::outputsChanged(const OutputNews& news) {
  findTimes();
  updateInSight();
  updateAccessibleName();
  if (news.none()) return;
  if (!realized_) return contentsChanged();
  const nlohmann::ordered_json& outputs = cell().outputs;
  if (outputs_ == nullptr && outputs.empty()) return;
  if (outputs_ == nullptr) makeOutputs();
  outputs_->update(outputs, news, cell().printed);
}

void CellWidget::makeOutputs() {
  outputs_ = new OutputArea(theme_, this);
  if (macros_ != nullptr) outputs_->setMacros(macros_->before(id_));
  connect(outputs_, &OutputArea::placeClicked, this, &CellWidget::placeClicked);
  connect(outputs_, &OutputArea::allWanted, this,
          [this] { outputs_->setOutputs(cell().outputs, cell().printed); });
  outputs_->show();
}

void CellWidget::setTheme(const NotebookTheme& theme) {
  theme_ = theme;
  stale_ = realized_;
  if (input_ != nullptr) input_->setTheme(theme);
  contentsChanged();
  updateInSight();
}

void CellWidget::restyle() {
  stale_ = false;
  if (editor_ != nullptr) editor_->setTheme(theme_);
  if (excerpt_ != nullptr) excerpt_->setTheme(theme_);
  if (rendered_ != nullptr) rendered_->setTheme(theme_);
  if (outputs_ != nullptr) {
    outputs_->setTheme(theme_);
    outputs_->setOutputs(cell().outputs, cell().printed);
  }
  contentsChanged();
}

// ---- editing ----

void CellWidget::edit() {
  showSource();
  editor_->setFocus();
}

void CellWidget::showSource() {
  realize();
  if (editor_ != nullptr) return;
  rendering_ = false;
  dropSourceWidgets();
  makeEditor();
  contentsChanged();
}

void CellWidget::renderMarkdown() {
  if (shownType_ != CellType::markdown || rendering_) return;
  rendering_ = true;
  if (realized_) {
    dropSourceWidgets();
    makeRendered();
  }
  contentsChanged();
  updateInSight();
}

bool CellWidget::hasEditorFocus() const {
  return editor_ != nullptr && editor_->hasFocus();
}

int CellWidget::yOfText(const QString& text) const {
  if (rendered_ == nullptr) return 0;
  // The outline has formulas in plain signs, the document as they are set.
  const auto compared = [](const QString& heading) {
    return heading.normalized(QString::NormalizationForm_KC).simplified();
  };
  const auto headingIn = [](const QTextBlock& block) {
    QTextCursor cursor(block);
    cursor.movePosition(QTextCursor::EndOfBlock, QTextCursor::KeepAnchor);
    return withPlainFormulas(plainTextOf(cursor));
  };
  for (QTextBlock block = rendered_->view()->document()->begin(); block.isValid(); block = block.next()) {
    if (block.blockFormat().headingLevel() == 0 || compared(headingIn(block)) != compared(text)) continue;
    const QRectF place = rendered_->view()->document()->documentLayout()->blockBoundingRect(block);
    return rendered_->y() + static_cast<int>(place.top());
  }
  return 0;
}

void CellWidget::setMark(int line, bool pending) {
  markLine_ = line;
  markPending_ = pending;
  if (editor_ != nullptr) editor_->setMark(line, pending);
}

void CellWidget::setBreakpoints(const QList<LineBreakpoint>& breakpoints) {
  breakpoints_ = breakpoints;
  if (editor_ != nullptr) editor_->setBreakpoints(breakpoints);
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
  findTimes();
  updateAccessibleName();
  updateInSight();
}

void CellWidget::updateInSight() {
  if (!visibleRegion().isEmpty()) update();
}

void CellWidget::setCurrent(bool current, bool editing) {
  if (current == current_ && editing == editing_) return;
  current_ = current;
  editing_ = editing;
  updateAccessibleName();
  updateInSight();
}

void CellWidget::setSelected(bool selected) {
  if (selected == selected_) return;
  selected_ = selected;
  updateAccessibleName();
  updateInSight();
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
  if (selected_) name += ", selected";
  setAccessibleName(name);
  setAccessibleDescription(showsMark() ? whyNotFresh_ : QString());
  if (editor_ != nullptr)
    editor_->setAccessibleName(QString("Source of %1 %2").arg(kind.toLower()).arg(number_));
  if (rendered_ != nullptr) rendered_->view()->setAccessibleName(QString("Markdown of cell %1").arg(number_));
}

}  // namespace tapedeck::app
