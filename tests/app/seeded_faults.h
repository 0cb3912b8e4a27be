// Programs with one mistake each, and the actions by which a user finds it who does not know where it is:
// from the file that is open, up to the sentence that names line and cause.
#pragma once

#include <QString>
#include <QStringList>

namespace tapedeck::app {

/// An action is "key Ctrl+F7", "click" on a named place, "type" an expression and Enter, or "choose" an entry
/// of the list that a click opened.
struct SeededFault {
  const char* name;
  QStringList cells;
  QStringList actions;
  QString panel;     ///< where it is said: health, why, compare
  quint32 line;      ///< of the finding's row; 0: it has none
  QStringList said;  ///< patterns
  bool pictured = false;
};

inline QList<SeededFault> seededFaults() {
  return {
      {"gradients added up and never cleared",
       {"import numpy as np\n"
        "import tapedeck as tf\n"
        "\n"
        "random = np.random.RandomState(0)\n"
        "x = random.randn(64, 8).astype(np.float32)\n"
        "y = (x @ random.randn(8, 1)).astype(np.float32)\n"
        "w = tf.Variable((0.3 * random.randn(8, 1)).astype(np.float32), name=\"w\")\n",
        "total = tf.zeros_like(w)\n"
        "for step in range(40):\n"
        "    with tf.GradientTape() as tape:\n"
        "        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))\n"
        "    total = total + tape.gradient(loss, w)\n"
        "    w.assign_sub(0.1 * total)\n"
        "loss"},
       {"key Ctrl+Shift+Return", "key Alt+7"},
       "health",
       5,
       {"^add \\(line 5\\) adds the gradient of w to those of the steps before, and the update takes the sum",
        "At step 40 it has the gradients of 40 steps, and is [\\d.e+]+ times as large"}},
      {"softmax over the batch",
       {"import numpy as np\n"
        "import tapedeck as tf\n"
        "\n"
        "random = np.random.RandomState(0)\n"
        "x = random.randn(60, 6).astype(np.float32)\n"
        "classes = np.argmax(x[:, :3], 1)\n"
        "targets = tf.constant(np.eye(3, dtype=np.float32)[classes])\n"
        "w = tf.Variable((0.3 * random.randn(6, 3)).astype(np.float32), name=\"w\")\n",
        "for step in range(40):\n"
        "    with tf.GradientTape() as tape:\n"
        "        shares = tf.nn.softmax(tf.matmul(tf.constant(x), w), axis=0)\n"
        "        loss = -tf.reduce_mean(tf.reduce_sum(targets * tf.math.log(shares), -1))\n"
        "    w.assign_sub(0.5 * tape.gradient(loss, w))\n"
        "loss"},
       {"key Ctrl+Shift+Return", "key Alt+7"},
       "health",
       3,
       {"^softmax \\(line 3\\) of \\(60, 3\\) is along axis 0, the 60 examples",
        "An example's 3 probabilities add up to 0\\.0\\d+ to [\\d.]+ \\(step 1\\), not to 1"}},
      {"inputs normalised over each example",
       {"import numpy as np\n"
        "import tapedeck as tf\n"
        "\n"
        "random = np.random.RandomState(0)\n"
        "age, income = 40 + 12 * random.randn(64), 5e4 + 1e4 * random.randn(64)\n"
        "rooms = 4 + 1.2 * random.randn(64)\n"
        "x = tf.constant(np.stack([age, income, rooms], 1).astype(np.float32))\n"
        "y = ((age - 40) / 12 + rooms - 4)[:, None].astype(np.float32)\n"
        "w = tf.Variable((0.3 * random.randn(3, 1)).astype(np.float32), name=\"w\")\n",
        "for step in range(40):\n"
        "    with tf.GradientTape() as tape:\n"
        "        spread = tf.math.reduce_std(x, 1, keepdims=True)\n"
        "        inputs = (x - tf.reduce_mean(x, 1, keepdims=True)) / spread\n"
        "        loss = tf.reduce_mean(tf.square(tf.matmul(inputs, w) - y))\n"
        "    w.assign_sub(0.1 * tape.gradient(loss, w))\n"
        "loss"},
       {"key Ctrl+Shift+Return", "key Alt+7"},
       "health",
       4,
       {"^divide \\(line 4\\) scales the inputs \\(64, 3\\) of the first layer's matmul \\(line 5\\) by one "
        "number for "
        "each example, reduce_std \\(line 3\\) of shape \\(64, 1\\), not for each feature",
        "before it column 1 has a standard deviation of [\\d.e+]+, column 2 of 1\\.\\d+"}},
      {"attention mask inverted",
       {"import numpy as np\n"
        "import tapedeck as tf\n"
        "\n"
        "random = np.random.RandomState(0)\n"
        "x = random.randn(16, 6, 4).astype(np.float32)\n"
        "y = np.cumsum(x, 1) / np.arange(1, 7)[None, :, None].astype(np.float32)\n"
        "past = np.tril(np.ones([6, 6], np.float32))\n"
        "q, k, v = (tf.Variable((0.5 * random.randn(4, 4)).astype(np.float32), name=name) for name in "
        "\"qkv\")\n",
        "for step in range(30):\n"
        "    with tf.GradientTape() as tape:\n"
        "        scores = tf.matmul(tf.matmul(x, q), tf.matmul(x, k), transpose_b=True) / 2.\n"
        "        weights = tf.nn.softmax(scores - 1e9 * past)\n"
        "        loss = tf.reduce_mean(tf.square(tf.matmul(weights, tf.matmul(x, v)) - y))\n"
        "    for variable, gradient in zip([q, k, v], tape.gradient(loss, [q, k, v])):\n"
        "        variable.assign_sub(0.2 * gradient)\n"
        "loss"},
       {"key Ctrl+Shift+Return", "key Alt+7"},
       "health",
       4,
       {"^The attention of softmax \\(line 4\\), \\(16, 6, 6\\), has an inverted mask",
        "Position 0 sees 1 to 5; position 5 sees none"}},
      {"clip that a whole division made 0",
       {"import numpy as np\n"
        "import tapedeck as tf\n"
        "\n"
        "random = np.random.RandomState(0)\n"
        "x = random.randn(64, 8).astype(np.float32)\n"
        "y = (x @ random.randn(8, 1)).astype(np.float32)\n"
        "w1 = tf.Variable((0.3 * random.randn(8, 8)).astype(np.float32), name=\"w1\")\n"
        "w2 = tf.Variable((0.3 * random.randn(8, 1)).astype(np.float32), name=\"w2\")\n"
        "clip = 5 // 10\n",
        "for step in range(30):\n"
        "    with tf.GradientTape() as tape:\n"
        "        loss = tf.reduce_mean(tf.square(tf.matmul(tf.nn.tanh(tf.matmul(x, w1)), w2) - y))\n"
        "    gradients, norm = tf.clip_by_global_norm(tape.gradient(loss, [w1, w2]), clip)\n"
        "    for variable, gradient in zip([w1, w2], gradients):\n"
        "        variable.assign_sub(0.1 * gradient)\n"
        "loss"},
       {"key Ctrl+Shift+Return", "key Alt+7"},
       "health",
       4,
       {"^w1 keeps its value in every step, although its gradient",
        "its update is 0, for the operand \\w+ of \\w+ \\(op [\\d,]+, line 4\\) is 0, a constant from "
        "Python"},
       true},
      {"variable assigned from an old copy",
       {"import numpy as np\n"
        "import tapedeck as tf\n"
        "\n"
        "random = np.random.RandomState(0)\n"
        "x = random.randn(64, 8).astype(np.float32)\n"
        "y = (x @ random.randn(8, 1)).astype(np.float32)\n"
        "w = tf.Variable((0.3 * random.randn(8, 1)).astype(np.float32), name=\"w\")\n",
        "value = w.read_value()\n"
        "for step in range(40):\n"
        "    with tf.GradientTape() as tape:\n"
        "        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))\n"
        "    w.assign(value - 0.1 * tape.gradient(loss, w))\n"
        "loss"},
       {"key Ctrl+Shift+Return", "key Ctrl+Shift+F7"},
       "why",
       0,
       {"was made by subtract \\(op [\\d,]+, line 5\\)",
        "Its operand x is w, as it was 39 assignments before this op"}},
      {"prediction cast to whole numbers in the loss",
       {"import numpy as np\n"
        "import tapedeck as tf\n"
        "\n"
        "random = np.random.RandomState(0)\n"
        "x = random.randn(64, 4).astype(np.float32)\n"
        "counts = np.maximum(0, np.round(3 * x[:, :1] + 4)).astype(np.int32)\n"
        "w = tf.Variable(np.ones([4, 1], np.float32), name=\"w\")\n"
        "b = tf.Variable(4., name=\"b\")\n",
        "for step in range(30):\n"
        "    with tf.GradientTape() as tape:\n"
        "        guess = tf.cast(tf.matmul(tf.constant(x), w) + b, tf.int32)\n"
        "        loss = tf.reduce_mean(tf.cast(tf.square(guess - counts), tf.float32))\n"
        "    for variable, gradient in zip([w, b], tape.gradient(loss, [w, b])):\n"
        "        if gradient is not None:\n"
        "            variable.assign_sub(0.01 * gradient)\n"
        "loss"},
       {"key Ctrl+Shift+Return", "key Shift+F7"},
       "why",
       0,
       {"There is no gradient for w:0",
        "ends at cast \\(op [\\d,]+, line 3\\): its result is not a floating-point tensor, and integers have "
        "no gradient"}},
      {"wrong sign of a regulariser",
       {"import numpy as np\n"
        "import tapedeck as tf\n"
        "\n"
        "random = np.random.RandomState(0)\n"
        "x = random.randn(64, 8).astype(np.float32)\n"
        "labels = (x[:, 0] > 0).astype(np.int32)\n"
        "w = tf.Variable((0.4 * random.randn(8, 2)).astype(np.float32), name=\"w\")\n",
        "for step in range(60):\n"
        "    with tf.GradientTape() as tape:\n"
        "        logits = tf.matmul(tf.constant(x), w)\n"
        "        error = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, "
        "logits=logits))\n"
        "        loss = error - 0.2 * tf.reduce_sum(tf.square(w))\n"
        "    w.assign_sub(0.1 * tape.gradient(loss, w))\n"
        "loss"},
       {"key Ctrl+Shift+Return", "key Ctrl+Alt+2", "click filter", "type subtract", "key Shift+F3",
        "key Shift+F3", "key Shift+F3", "key Ctrl+Shift+F7"},
       "why",
       0,
       {"^This element, -57\\.\\d+, was made by subtract \\(op [\\d,]+, line 5\\) of 2 contributions; the "
        "largest is y = 57\\.\\d+ \\(99 %"}},
      {"softmax by hand in float16",
       {"import numpy as np\n"
        "import tapedeck as tf\n"
        "\n"
        "random = np.random.RandomState(0)\n"
        "x = (3 * random.randn(64, 8)).astype(np.float16)\n"
        "classes = np.argmax(x[:, :3], 1)\n"
        "targets = tf.constant(np.eye(3, dtype=np.float16)[classes])\n"
        "w = tf.Variable((0.3 * random.randn(8, 3)).astype(np.float16), name=\"w\")\n",
        "for step in range(40):\n"
        "    with tf.GradientTape() as tape:\n"
        "        powers = tf.exp(tf.matmul(tf.constant(x), w))\n"
        "        shares = powers / tf.reduce_sum(powers, -1, keepdims=True)\n"
        "        loss = -tf.reduce_mean(tf.reduce_sum(targets * tf.math.log(shares), -1))\n"
        "    w.assign_sub(0.5 * tape.gradient(loss, w))\n"
        "loss"},
       {"key Ctrl+Shift+Return", "key F7"},
       "why",
       0,
       {"(Its forward op|The forward op of that infinity) is log \\(op [\\d,]+, line 5\\) with x\\[\\d+, "
        "\\d\\] = 0\\.0",
        "The 0\\.0 in it was made by divide \\(op [\\d,]+, line 4\\): [\\d.]+ / inf",
        "was born in exp \\(op [\\d,]+, line 3\\): exp\\(11\\.\\d+\\); there the result is larger than "
        "65504"},
       true},
      {"gradient of a norm at 0",
       {"import numpy as np\n"
        "import tapedeck as tf\n"
        "\n"
        "random = np.random.RandomState(0)\n"
        "x = random.randn(64, 8).astype(np.float32)\n"
        "y = (x @ random.randn(8, 1)).astype(np.float32)\n"
        "w = tf.Variable(np.zeros([8, 1], np.float32), name=\"w\")\n",
        "for step in range(20):\n"
        "    with tf.GradientTape() as tape:\n"
        "        error = tf.reduce_mean(tf.square(tf.matmul(tf.constant(x), w) - y))\n"
        "        loss = error + 0.01 * tf.sqrt(tf.reduce_sum(tf.square(w)))\n"
        "    w.assign_sub(0.1 * tape.gradient(loss, w))\n"
        "loss"},
       {"key Ctrl+Shift+Return", "key F7"},
       "why",
       0,
       {"There 0 · ∞ is undefined",
        "(Its forward op|The forward op of that infinity) is sqrt \\(op [\\d,]+, line 4\\) with x = 0\\.0"}},
      {"weight not transposed in a square layer",
       {"import numpy as np\n"
        "import tapedeck as tf\n"
        "\n"
        "random = np.random.RandomState(0)\n"
        "x = random.randn(32, 8).astype(np.float32)\n"
        "w = tf.Variable(np.linalg.qr(random.randn(8, 8))[0].astype(np.float32), name=\"w\")\n"
        "\n"
        "def train(decode):\n"
        "    w.assign(w0)\n"
        "    for step in range(30):\n"
        "        with tf.GradientTape() as tape:\n"
        "            code = tf.matmul(tf.constant(x), w)\n"
        "            loss = tf.reduce_mean(tf.square(decode(code) - x))\n"
        "        w.assign_sub(0.1 * tape.gradient(loss, w))\n"
        "    return loss\n"
        "w0 = w.read_value()\n",
        "train(lambda code: tf.matmul(code, w, transpose_b=True))", "train(lambda code: tf.matmul(code, w))"},
       {"key Ctrl+Shift+Return", "key Alt+8", "click left side", "choose cell [2]", "click right side",
        "choose cell [3]", "key F"},
       "compare",
       0,
       {"^The first difference is op \\d+, matmul, cell \\[2\\] line 1",
        "its attributes differ \\(transpose_b: True \\| False\\)"}},
  };
}

}  // namespace tapedeck::app
