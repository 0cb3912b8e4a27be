#include "inspector/panels/compare/compare_bar.h"

#include <QAbstractItemView>
#include <QComboBox>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <algorithm>

#include "inspector/model/format.h"
#include "inspector/model/plain_tip.h"
#include "inspector/ui/file_dialogs.h"
#include "inspector/ui/follow_font.h"
#include "inspector/ui/plain_text.h"
#include "inspector/ui/theme.h"
#include "inspector/ui/wrapping_layout.h"

namespace tapedeck::inspector {

namespace {

// The meaning of an entry that is not a run.
constexpr int chosen_entry = -1, here_entry = -2, branch_entry = -3, file_entry = -4, trace_entry = -5;

/// Letters are the panel's keys: while one of them has nothing to do yet (F before the sides are compared),
/// it must not choose the entry that begins so.
class SideBox : public QComboBox {
 public:
  using QComboBox::QComboBox;

 protected:
  void keyPressEvent(QKeyEvent* event) override {
    if (!event->text().isEmpty() && event->text()[0].isLetterOrNumber())
      event->ignore();
    else
      QComboBox::keyPressEvent(event);
  }
};

bool readNumber(const QString& text, double* number) {
  bool right = false;
  *number = text.trimmed().isEmpty() ? 0 : text.trimmed().toDouble(&right);
  return (right || text.trimmed().isEmpty()) && *number >= 0;
}

}  // namespace

CompareBar::CompareBar(CompareModel* model, QWidget* parent) : QWidget(parent), model_(model) {
  auto* layout = new WrappingLayout(this);
  layout->setContentsMargins(4, 2, 4, 0);
  layout->setSpacing(4);
  left_ = addSide(layout, QStringLiteral("Left:"), false);
  right_ = addSide(layout, QStringLiteral("Right:"), true);
  // As high as its lines are: a fixed height would be that of one.
  QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Minimum);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
  connect(model, &CompareModel::runsChanged, this, &CompareBar::showAll);
  connect(model, &CompareModel::changed, this, &CompareBar::showAll);
  connect(model->session(), &Session::cursorChanged, this, &CompareBar::showAll);
  connect(model->session(), &Session::lookChanged, this, &CompareBar::showAll);
  showAll();
}

void CompareBar::addTolerances(QLayout* layout) {
  relative_ = addNumber(
      layout, "compareRelative", QStringLiteral("Relative:"),
      QStringLiteral("Values agree where they differ by at most this share of the larger one: 0, 1e-6"));
  absolute_ = addNumber(layout, "compareAbsolute", QStringLiteral("Absolute:"),
                        QStringLiteral("Values agree where they differ by at most this: 0, 1e-8"));
}

QComboBox* CompareBar::addSide(WrappingLayout* layout, const QString& name, bool right) {
  auto* group = new QWidget(this);
  auto* row = new QHBoxLayout(group);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(4);
  auto* label = plainLabel(name, group);
  auto* box = new SideBox(group);
  box->setObjectName(right ? QStringLiteral("compareRight") : QStringLiteral("compareLeft"));
  box->setAccessibleName(right ? QStringLiteral("Right side") : QStringLiteral("Left side"));
  box->setToolTip(QStringLiteral("Which run, moment, branch or trace file is on this side"));
  box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  box->setMinimumContentsLength(24);
  label->setBuddy(box);
  row->addWidget(label);
  row->addWidget(box, 1);
  layout->addWidget(group);
  connect(box, &QComboBox::activated, this,
          [this, box, right](int at) { take(box->itemData(at).toInt(), right); });
  return box;
}

QLineEdit* CompareBar::addNumber(QLayout* layout, const char* id, const QString& name, const QString& tip) {
  auto* group = new QWidget(this);
  group->setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Preferred);  // the name beside its number
  auto* row = new QHBoxLayout(group);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(4);
  auto* label = plainLabel(name, group);
  auto* line = new QLineEdit(QStringLiteral("0"), group);
  line->setObjectName(QLatin1String(id));
  line->setToolTip(plainTip(tip));
  line->setAccessibleName(QStringLiteral("Tolerance, %1").arg(name.toLower().chopped(1)));
  followFont(line, [line] {
    line->setFixedWidth(line->fontMetrics().horizontalAdvance(QStringLiteral("0.000001")) + 16);
  });
  label->setBuddy(line);
  row->addWidget(label);
  row->addWidget(line);
  layout->addWidget(group);
  connect(line, &QLineEdit::editingFinished, this, &CompareBar::takeTolerance);
  connect(line, &QLineEdit::textEdited, this, [line] {
    double number = 0;
    QPalette colours = line->window()->palette();
    if (!readNumber(line->text(), &number))
      colours.setColor(QPalette::Text, Theme::fromPalette(colours).error.stroke);
    line->setPalette(colours);
  });
  return line;
}

void CompareBar::takeTolerance() {
  double relative = 0, absolute = 0;
  const bool first = readNumber(relative_->text(), &relative),
             second = readNumber(absolute_->text(), &absolute);
  if (!first) relative_->setText(QString::number(relative = model_->relative()));
  if (!second) absolute_->setText(QString::number(absolute = model_->absolute()));
  for (QLineEdit* line : {relative_, absolute_}) line->setPalette(palette());
  model_->setTolerance(relative, absolute);
}

void CompareBar::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  showAll();
}

// The cursor moves often, and the runs may be many: a hidden list is not filled.
void CompareBar::showAll() {
  if (!isVisible()) return;
  choices_ = model_->choices();
  fill(left_, model_->left());
  fill(right_, model_->right());
  // A port gets a tolerance of its own.
  for (const auto& [line, number] :
       {std::pair(relative_, model_->relative()), std::pair(absolute_, model_->absolute())})
    if (line && !line->hasFocus()) line->setText(QString::number(number));
}

void CompareBar::fill(QComboBox* box, const std::optional<CompareChoice>& chosen) {
  if (box->view()->isVisible()) return;  // the user chooses just now
  const QSignalBlocker quiet(box);
  box->clear();
  int current = -1;
  const bool listed = chosen && chosen->run && std::ranges::any_of(choices_, [&](const CompareChoice& one) {
                        return one.run == chosen->run;
                      });
  const std::optional<CompareChoice> trace = model_->thisTrace();
  if (chosen && !listed && !(trace && chosen->whole)) {
    box->addItem(chosen->title, chosen_entry);
    current = 0;
  }
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    if (chosen && chosen->run && chosen->run == choices_[i].run) current = box->count();
    box->addItem(choices_[i].title, static_cast<int>(i));
  }
  if (trace) {
    if (chosen && chosen->whole) current = box->count();
    box->addItem(trace->title, trace_entry);
  }
  if (model_->session()->cursor())
    box->addItem(QStringLiteral("From the cursor: op %1 on").arg(countText(model_->session()->cursor())),
                 here_entry);
  if (model_->session()->look().branch)
    box->addItem(QStringLiteral("Original and branch of What if"), branch_entry);
  box->addItem(QStringLiteral("A trace file, or a file of tensors…"), file_entry);
  box->setCurrentIndex(current);
  box->setPlaceholderText(QStringLiteral("choose a run"));
}

void CompareBar::take(int entry, bool right) {
  const auto set = [&](const CompareChoice& choice) {
    right ? model_->setRight(choice) : model_->setLeft(choice);
  };
  if (entry >= 0 && entry < static_cast<int>(choices_.size())) {
    // Setting it makes new choices.
    const CompareChoice choice = choices_[static_cast<std::size_t>(entry)];
    return set(choice);
  }
  if (const auto trace = model_->thisTrace(); trace && entry == trace_entry) set(*trace);
  if (entry == here_entry) set(model_->fromHere());
  if (entry == branch_entry) model_->chooseBranch();
  if (entry == file_entry) askFile(right);
}

void CompareBar::askFile(bool right) {
  const QString path = QFileDialog::getOpenFileName(
      window(), QStringLiteral("Compare with a trace file"), suggestedPath(this, QString()),
      QStringLiteral("Traces and tensors (*.tapetrace *.npz *.safetensors);;"
                     "All files (*)"));
  if (path.isEmpty()) return showAll();
  rememberFolder(path);
  right ? model_->setRight(model_->file(path)) : model_->setLeft(model_->file(path));
}

void CompareBar::askNames() {
  const QString path = QFileDialog::getOpenFileName(
      window(), QStringLiteral("Name map: which layer is which"), suggestedPath(this, QString()),
      QStringLiteral("Name maps (*.txt *.json *.map);;All files (*)"));
  if (path.isEmpty()) return;
  rememberFolder(path);
  model_->setNames(path);
}

}  // namespace tapedeck::inspector
