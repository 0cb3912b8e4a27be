#include "app/shell/window/samples.h"

#include <QFileInfo>
#include <QSettings>

namespace tapedeck::app {

QList<Sample> samples() {
  const struct {
    const char *file, *title, *summary;
    SampleKind kind = SampleKind::learn;
  } rows[] = {
      {"first_gradient.ipynb", "First gradient",
       "A function, its derivative, and the derivative of that: what a tape does."},
      {"noisy_square.ipynb", "Noisy square",
       "A custom gradient that adds noise, and two curves that converge or do not."},
      {"first_network.ipynb", "First network",
       "Two layers learn what one cannot: exclusive or, with every number in sight."},
      {"graph_functions.ipynb", "A graph function",
       "A branch and a loop as a graph: why it was traced, and what its passes changed."},
      {"log1pexp.ipynb", "log1pexp", "A NaN in a gradient: found by stepping backwards, and fixed."},
      {"softmax_nan.ipynb", "Puzzle: the loss is NaN",
       "A classifier whose loss soon becomes NaN: where was it born?", SampleKind::puzzle},
      {"dead_relu.ipynb", "Puzzle: a dead network",
       "Nothing is infinite, nothing fails, and it does not learn.", SampleKind::puzzle},
      {"gradient_none.ipynb", "Puzzle: no gradient", "The loss comes from W, and its gradient is None.",
       SampleKind::puzzle},
      {"exploding_rnn.ipynb", "Puzzle: an exploding gradient", "A recurrent network, and a norm of 10¹⁵.",
       SampleKind::puzzle},
      {"wrong_gradient.ipynb", "Puzzle: a wrong gradient", "Written by hand, and nearly right.",
       SampleKind::puzzle},
      {"lost_digits.ipynb", "Puzzle: lost digits", "Each op is exact, and the result is 160 times too large.",
       SampleKind::puzzle},
      {"unequal_runs.ipynb", "Puzzle: two unequal runs",
       "The same weights, the same seed, another curve: which op differs first?", SampleKind::puzzle},
      {"slow_python.ipynb", "Puzzle: a slow run",
       "Next to nothing to compute, and yet slow steps: where does the time go?", SampleKind::puzzle},
      {"kept_tapes.ipynb", "Puzzle: memory that grows",
       "50 kilobytes of weights, and two megabytes more with every step: who holds them?",
       SampleKind::puzzle},
      {"silent_layer.ipynb", "Puzzle: a layer falls silent",
       "It learns, and then it forgets everything: which layer is it, and since when?", SampleKind::puzzle},
      {"lbfgs_autoencoder.ipynb", "L-BFGS autoencoder",
       "10,000 images, one matrix, and an optimiser that you can look into while it trains.",
       SampleKind::train},
      {"convnet.ipynb", "A network for shirts and shoes",
       "A convolutional network tells more than nine of ten pictures of Fashion-MNIST apart: what does it "
       "mix up?",
       SampleKind::train},
      {"char_lstm.ipynb", "A network that learns to write",
       "An LSTM reads a poem and writes on the way: letters, words, lines, and what it has memorised.",
       SampleKind::train},
      {"small_resnet.ipynb", "What shortcuts are for",
       "34 layers, with and without shortcuts: two gradients, two losses.", SampleKind::train},
      {"resnet.ipynb", "ResNet-50 on a random batch",
       "25.6 million weights: the time and the memory of a step, and memorised noise.", SampleKind::train},
      {"transformer.ipynb", "A transformer's attention",
       "It writes words backwards or sorts their letters; its attention shows how.", SampleKind::train},
      {"vae.ipynb", "A map of clothing",
       "A variational autoencoder: two numbers for a picture, and what lies at every point of its map.",
       SampleKind::train},
      {"gan.ipynb", "Two networks against each other",
       "A generator that learns to draw sneakers, saved, thrown away, and restored in part.",
       SampleKind::train},
      {"second_order.ipynb", "Three ways downhill",
       "Adam, L-BFGS and K-FAC train the same network: their curves in one plot.", SampleKind::train},
      {"pytorch/convnet_in_torch.ipynb", "A ConvNet in PyTorch",
       "A training loop as in every tutorial; nothing in it mentions Tapedeck.", SampleKind::pytorch},
      {"pytorch/overwritten_activation.ipynb", "Puzzle: backward refuses",
       "A tensor was written to that a gradient needs: by which line?", SampleKind::pytorch},
      {"pytorch/where_nan.ipynb", "Puzzle: a NaN behind where",
       "The loss is a good number, its gradient is NaN: where was it born?", SampleKind::pytorch},
      {"pytorch/wrong_axis.ipynb", "Puzzle: a port with one wrong axis",
       "A transformer's block for Tapedeck, and its port: where do they part?", SampleKind::pytorch},
  };
  QList<Sample> found;
  for (const auto& row : rows) {
    const QString path = QString(TAPEDECK_SAMPLES_DIR) + "/" + row.file;
    if (QFileInfo::exists(path)) found << Sample{row.kind, row.title, row.summary, path, row.file};
  }
  return found;
}

QString Sample::thumbnail() const {
  return ":/thumbnails/" + QFileInfo(path).completeBaseName() + ".svg";
}

bool isSample(const QString& path) {
  const QString folder = QFileInfo(TAPEDECK_SAMPLES_DIR).canonicalFilePath();
  const QFileInfo file(path);
  // For a file that does not exist yet, the folder decides.
  const QString place =
      file.exists() ? file.canonicalFilePath() : QFileInfo(file.path()).canonicalFilePath() + "/";
  return !folder.isEmpty() && place.startsWith(folder + "/");
}

QString copyName(const QString& path) {
  QString title = QFileInfo(path).completeBaseName();
  for (const Sample& sample : samples())
    if (QFileInfo(sample.path).canonicalFilePath() == QFileInfo(path).canonicalFilePath())
      title = sample.title;
  return title + " (copy)";
}

QStringList recentNotebooks() {
  QStringList paths;
  for (const QString& path : QSettings().value("recent").toStringList())
    if (QFileInfo::exists(path)) paths << path;
  return paths;
}

void addRecentNotebook(const QString& path) {
  const QString absolute = QFileInfo(path).absoluteFilePath();
  QStringList paths = recentNotebooks();
  paths.removeAll(absolute);
  paths.prepend(absolute);
  QSettings().setValue("recent", QStringList(paths.mid(0, 10)));
}

}  // namespace tapedeck::app
