#include "app/notebook/output/output_area.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolButton>

#include "app/notebook/document/nbformat.h"
#include "app/notebook/output/output_factory.h"
#include "app/notebook/output/rich_output.h"
#include "app/notebook/output/text/text_output.h"

namespace tapedeck::app {
namespace {

using nlohmann::ordered_json;

constexpr int gap = 4;
constexpr std::size_t most_rows = 100;

void mixIn(std::size_t& seed, std::size_t value) {
  seed ^= value + 0x9e3779b97f4a7c15ULL + (seed << 6) + (seed >> 2);
}

/// Tells outputs apart without keeping a copy of them.
std::size_t signatureOf(const ordered_json& value) {
  std::size_t seed = static_cast<std::size_t>(value.type());
  if (value.is_string()) {
    mixIn(seed, std::hash<std::string_view>()(value.get_ref<const std::string&>()));
  } else if (value.is_object()) {
    for (const auto& [key, member] : value.items()) {
      mixIn(seed, std::hash<std::string_view>()(key));
      mixIn(seed, signatureOf(member));
    }
  } else if (value.is_array()) {
    for (const auto& element : value) mixIn(seed, signatureOf(element));
  } else {
    mixIn(seed, std::hash<ordered_json>()(value));
  }
  return seed;
}

std::string kindOf(const ordered_json& output) {
  if (!output.is_object()) return "";
  const std::string type = output.value("output_type", "");
  if (type != "stream") return type;
  return type + (output.contains("name") && output["name"] == "stderr" ? " stderr" : " stdout");
}

QString promptOf(const ordered_json& output) {
  if (!output.is_object() || output.value("output_type", "") != "execute_result") return {};
  const auto count = output.find("execution_count");
  if (count == output.end() || !count->is_number_integer()) return "Out";
  return QString("Out[%1]").arg(count->get<std::int64_t>());
}

const PrintedText* printedAt(const PrintedTexts& printed, std::size_t index) {
  const auto found = printed.find(index);
  return found == printed.end() ? nullptr : &found->second;
}

/// Lines that a stream will be shown with; long ones fold.
int streamLines(const ordered_json& output) {
  constexpr int most_lines = 35;
  const auto found = output.find("text");
  if (found == output.end() || !found->is_string()) return 1;
  const std::string& text = found->get_ref<const std::string&>();
  int lines = text.ends_with('\n') ? 0 : 1;
  for (std::size_t i = text.find('\n'); i != std::string::npos && lines < most_lines;
       i = text.find('\n', i + 1))
    ++lines;
  return std::max(1, lines);
}

}  // namespace

int gutterWidth(const NotebookTheme& theme) {
  return QFontMetrics(theme.codeFont).horizontalAdvance("Out[999]") + 14;
}

OutputArea::OutputArea(const NotebookTheme& theme, QWidget* parent) : Block(parent), theme_(theme) {}

OutputArea::Row OutputArea::makeRow(const ordered_json& output, const PrintedText* printed) {
  Row row{0, kindOf(output), promptOf(output), makeOutputBlock(output, theme_, this)};
  // A stream knows its text itself.
  if (!row.kind.starts_with("stream")) row.signature = signatureOf(output);
  if (auto* text = qobject_cast<TextOutput*>(row.block)) {
    connect(text, &TextOutput::placeClicked, this, &OutputArea::placeClicked);
    if (printed != nullptr) text->setPrinted(*printed, 0);
  }
  if (auto* rich = qobject_cast<RichOutput*>(row.block)) rich->setMacros(macros_);
  row.block->show();
  return row;
}

qsizetype OutputArea::richNumber(const Block* block) const {
  qsizetype number = 0;
  for (const Row& row : rows_) {
    const bool rich = qobject_cast<RichOutput*>(row.block) != nullptr;
    if (row.block == block) return rich ? number : -1;
    number += rich ? 1 : 0;
  }
  return -1;
}

/// Before rows change, which moves the others.
void OutputArea::rememberFolds() {
  qsizetype number = 0;
  for (const Row& row : rows_) {
    const auto* rich = qobject_cast<RichOutput*>(row.block);
    if (rich == nullptr) continue;
    if (folds_.size() <= number) folds_.resize(number + 1);
    folds_[number++] = rich->folds();
  }
}

void OutputArea::recallFolds(const Row& row) {
  const qsizetype number = richNumber(row.block);
  if (number >= 0 && number < folds_.size()) static_cast<RichOutput*>(row.block)->setFolds(folds_[number]);
}

void OutputArea::discard(const Row& row) {
  // Later: a click in it may be what led here.
  row.block->hide();
  row.block->deleteLater();
}

std::size_t OutputArea::shownCount(const ordered_json& outputs) const {
  return showAll_ ? outputs.size() : std::min(outputs.size(), most_rows);
}

void OutputArea::replaceRow(std::size_t index, const ordered_json& output, const PrintedText* printed) {
  discard(rows_[index]);
  rows_[index] = makeRow(output, printed);
  recallFolds(rows_[index]);
}

void OutputArea::setOutputs(const ordered_json& outputs, const PrintedTexts& printed) {
  rememberFolds();
  const std::size_t count = shownCount(outputs);
  for (std::size_t i = 0; i < count; ++i) {
    const ordered_json& output = outputs[i];
    const PrintedText* text = printedAt(printed, i);
    if (i >= rows_.size()) {
      rows_.push_back(makeRow(output, text));
      recallFolds(rows_.back());
      auto* block = qobject_cast<TextOutput*>(rows_.back().block);
      if (block != nullptr && i < arranged_.size()) block->setArrangement(arranged_[i]);
      continue;
    }
    Row& row = rows_[i];
    if (row.kind == kindOf(output) && row.kind.starts_with("stream")) {
      auto* block = static_cast<TextOutput*>(row.block);
      text != nullptr ? block->setPrinted(*text, 0) : block->setText(streamText(output));
      continue;
    }
    const std::size_t signature = signatureOf(output);
    if (row.signature == signature) continue;
    replaceRow(i, output, text);
  }
  while (rows_.size() > count) {
    discard(rows_.back());
    rows_.pop_back();
  }
  arranged_.clear();
  offerMore(outputs.size() - count);
  contentsChanged();
}

void OutputArea::update(const ordered_json& outputs, const OutputNews& news, const PrintedTexts& printed) {
  if (news.all) return setOutputs(outputs, printed);
  rememberFolds();
  const std::size_t count = shownCount(outputs);
  for (const auto& [index, kept] : news.kept) {
    if (index >= std::min(count, rows_.size())) break;
    const ordered_json& output = outputs[index];
    auto* text =
        rows_[index].kind == kindOf(output) ? qobject_cast<TextOutput*>(rows_[index].block) : nullptr;
    const auto found = output.find("text");
    const PrintedText* whole = printedAt(printed, index);
    if (text != nullptr && whole != nullptr) {
      text->setPrinted(*whole, kept);
    } else if (text != nullptr && kept > 0 && found != output.end() && found->is_string()) {
      text->replaceFrom(kept, std::string_view(found->get_ref<const std::string&>()).substr(kept));
    } else {
      replaceRow(index, output, whole);
    }
  }
  for (std::size_t i = rows_.size(); i < count; ++i) {
    rows_.push_back(makeRow(outputs[i], printedAt(printed, i)));
    recallFolds(rows_.back());
    if (rows_.back().kind.starts_with("stream")) static_cast<TextOutput*>(rows_.back().block)->followEnd();
  }
  offerMore(outputs.size() - count);
  contentsChanged();
}

void OutputArea::showRow(int index) {
  if (index < count() || more_ == nullptr) return;
  showAll_ = true;
  emit allWanted();
}

QList<TextOutput*> OutputArea::foldingTexts() const {
  QList<TextOutput*> texts;
  for (const Row& row : rows_)
    if (auto* text = qobject_cast<TextOutput*>(row.block); text != nullptr && text->folds()) texts += text;
  return texts;
}

TextOutput* OutputArea::longestText() const {
  TextOutput* longest = nullptr;
  for (const Row& row : rows_)
    if (auto* text = qobject_cast<TextOutput*>(row.block))
      if (longest == nullptr || text->size() > longest->size()) longest = text;
  return longest;
}

void OutputArea::offerMore(std::size_t hidden) {
  if (hidden == 0) {
    if (more_ != nullptr) more_->deleteLater();
    if (more_ != nullptr) more_->hide();
    more_ = nullptr;
    return;
  }
  if (more_ == nullptr) {
    more_ = new QToolButton(this);
    more_->setToolTip("Only the first 100 outputs of a cell are shown at once");
    connect(more_, &QToolButton::clicked, this, [this] {
      showAll_ = true;
      emit allWanted();
    });
  }
  more_->setText(QString("Show %1 more outputs").arg(hidden));
  more_->show();
}

void OutputArea::setMacros(const QStringList& macros) {
  if (macros_ == macros) return;
  macros_ = macros;
  for (const Row& row : rows_)
    if (auto* rich = qobject_cast<RichOutput*>(row.block)) rich->setMacros(macros);
}

void OutputArea::setTheme(const NotebookTheme& theme) {
  theme_ = theme;
  rememberFolds();
  arranged_.clear();
  for (const Row& row : rows_) {
    const auto* text = qobject_cast<TextOutput*>(row.block);
    arranged_.push_back(text != nullptr ? text->arrangement() : TextArrangement());
    discard(row);
  }
  rows_.clear();
}

int OutputArea::computeHeight(int width) {
  const int room = std::max(40, width - gutterWidth(theme_));
  int height = 0;
  for (const Row& row : rows_) height += row.block->heightFor(room) + gap;
  if (more_ != nullptr) height += more_->sizeHint().height() + gap;
  return height;
}

void OutputArea::place() {
  const int left = gutterWidth(theme_);
  const int room = std::max(40, width() - left);
  int y = gap;
  for (const Row& row : rows_) {
    const int height = row.block->heightFor(room);
    row.block->setGeometry(left, y, room, height);
    row.block->arrange();
    y += height + gap;
  }
  if (more_ != nullptr) more_->setGeometry(QRect(QPoint(left, y), more_->sizeHint()));
  update();
}

void OutputArea::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setFont(theme_.codeFont);
  painter.setPen(theme_.faintText);
  const QFontMetrics metrics(theme_.codeFont);
  for (const Row& row : rows_) {
    if (row.prompt.isEmpty()) continue;
    painter.drawText(QRect(0, row.block->y() + 3, gutterWidth(theme_) - 8, metrics.lineSpacing()),
                     Qt::AlignRight | Qt::AlignVCenter, row.prompt);
  }
}

int OutputArea::estimate(const ordered_json& outputs, const NotebookTheme& theme) {
  const int line = QFontMetrics(theme.codeFont).lineSpacing();
  int height = 0;
  for (std::size_t i = 0; i < std::min(outputs.size(), most_rows); ++i) {
    const ordered_json& output = outputs[i];
    const std::string kind = kindOf(output);
    if (kind.starts_with("stream")) {
      height += line * streamLines(output);
    } else if (kind == "error") {
      height += line * 10;
    } else if (output.contains("data") && output["data"].is_object() &&
               output["data"].contains("text/plain") && output["data"].size() == 1) {
      height += line;
    } else {
      height += 260;
    }
    height += 10;
  }
  return height;
}

}  // namespace tapedeck::app
