#include "inspector/model/tensor/element_finder.h"

#include "inspector/model/format.h"
#include "inspector/model/tensor/numpy_text.h"

namespace tapedeck::inspector {

namespace {

using protocol::Sought;

const QString finder_channel = QStringLiteral("tensor/element");

/// `begin`: as a sentence begins.
QString soughtText(Sought sought, bool begin) {
  switch (sought) {
    case Sought::nan:
      return QStringLiteral("NaN");
    case Sought::infinity:
      return begin ? QStringLiteral("Infinity") : QStringLiteral("infinity");
    case Sought::minimum:
      return begin ? QStringLiteral("Minimum") : QStringLiteral("minimum");
    case Sought::maximum:
      break;
  }
  return begin ? QStringLiteral("Maximum") : QStringLiteral("maximum");
}

QString foundPlaceText(const std::vector<std::int64_t>& element) {
  QStringList parts;
  for (const std::int64_t index : element) parts << QString::number(index);
  return QLatin1Char('[') + parts.join(QStringLiteral(", ")) + QLatin1Char(']');
}

}  // namespace

ElementFinder::ElementFinder(TensorModel* model, QObject* parent) : QObject(parent), model_(model) {
  // The answer would be about a tensor that is no longer shown, or about other values of it.
  connect(model, &TensorModel::chipsChanged, this, [this] {
    if (last_ && (!model_->tensor() || model_->tensor()->id != last_->tensor)) {
      last_.reset();
      stop();
    }
  });
  connect(model->session(), &Session::lookChanged, this, [this] {
    last_.reset();
    stop();
  });
  connect(model->session(), &Session::liveChanged, this, &ElementFinder::lookingChanged);
}

bool ElementFinder::looking() const {
  return model_->session()->asking(finder_channel);
}

void ElementFinder::stop() {
  if (!looking()) return;
  model_->session()->drop(finder_channel);
  emit told(QStringLiteral("Stopped looking."));
  emit lookingChanged();
}

void ElementFinder::find(Sought sought) {
  const protocol::TensorInfo* tensor = model_->tensor();
  if (!tensor) return;
  protocol::FindElement request;
  request.tensor = tensor->id;
  request.sought = sought;
  if (last_ && last_->tensor == tensor->id && last_->sought == sought && last_->place >= 0)
    request.after = last_->place;
  else
    last_ = Last{tensor->id, sought, -1};
  const bool asked = model_->session()->request<protocol::FoundElement>(
      request, this, [this, sought](const protocol::FoundElement& answer) { take(answer, sought); },
      [this](const protocol::Failure& failure) {
        emit told(failure.code == "ended" ? QStringLiteral("The session ended before the search finished.")
                                          : QString::fromStdString(failure.reason));
        emit lookingChanged();
      },
      finder_channel,
      [this, sought](const protocol::Progress& progress) {
        if (progress.total)
          emit told(QStringLiteral("Looking for the %1: recomputing, %2 of %3 ops ran again …")
                        .arg(soughtText(sought, false), countText(progress.done), countText(progress.total)));
      });
  if (!asked)
    emit told(QStringLiteral("The session has ended: these values can no longer be searched."));
  else
    emit told(
        QStringLiteral("Looking for %1%2 among %3 elements …")
            .arg(sought == Sought::nan || sought == Sought::infinity ? QString() : QStringLiteral("the "),
                 soughtText(sought, false), countText(static_cast<quint64>(elementCount(tensor->shape)))));
  emit lookingChanged();
}

void ElementFinder::take(const protocol::FoundElement& answer, Sought sought) {
  const protocol::TensorInfo* tensor = model_->tensor();
  emit lookingChanged();
  if (!tensor || tensor->id != answer.tensor) return;
  const QString all = countText(static_cast<quint64>(elementCount(tensor->shape)));
  if (!answer.place) {
    emit told(
        sought == Sought::nan || sought == Sought::infinity
            ? QStringLiteral("No %1 among %2 elements.").arg(soughtText(sought, false), all)
            : QStringLiteral("No %1: none of %2 elements is finite.").arg(soughtText(sought, false), all));
    return;
  }
  if (answer.index.size() != tensor->shape.size()) {
    emit told(QStringLiteral("The session's answer is malformed: %1 indices for %2 axes.")
                  .arg(answer.index.size())
                  .arg(tensor->shape.size()));
    return;
  }
  last_ = Last{answer.tensor, sought, *answer.place};
  QString text = soughtText(sought, true);
  if (isComplexDtype(tensor->dtype) && sought != Sought::nan && sought != Sought::infinity)
    text += QStringLiteral(" of the magnitudes");
  if (tensor->dtype == "string") text += QStringLiteral(" of the lengths in bytes");
  if (sought != Sought::nan)
    text += QLatin1Char(' ') +
            (tensor->dtype == "string"
                 ? QString::number(answer.value, 'f', 0)
                 : numpyText(answer.value,
                             isComplexDtype(tensor->dtype) ? std::string("float64") : tensor->dtype));
  text += QStringLiteral(" at %1").arg(foundPlaceText(answer.index));
  text += answer.alike == 1 ? QStringLiteral(", the only one.")
                            : QStringLiteral(", %1 of %2 equal ones: press again for the next.")
                                  .arg(countText(answer.rank), countText(answer.alike));
  emit found(answer.index);
  emit told(text);
}

}  // namespace tapedeck::inspector
