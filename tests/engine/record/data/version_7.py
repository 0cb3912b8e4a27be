"""A small run with what a trace file keeps: curves, pictures, versions of variables, a custom gradient, a failure, borrowed memory."""
import numpy as np
import tapedeck as tf

writer = tf.summary.create_file_writer("logs")
with writer.as_default():  # before there is a record
    tf.summary.scalar("before", 1.0, step=0)
    tf.summary.histogram("before", np.arange(4.0), step=0)

tf.random.set_seed(3)
data = tf.constant(np.linspace(-1, 1, 24, dtype=np.float32).reshape(6, 4))
goal = tf.constant(np.arange(6) % 3)
words = tf.constant(["one", ""])
weight = tf.Variable(tf.random.normal([4, 3]), name="weight")
bias = tf.Variable(tf.zeros([3]), name="bias")
optimizer = tf.keras.optimizers.Adam(0.05)


@tf.custom_gradient
def cube(x):
    def gradient(cotangent):
        return 3.0 * x * x * cotangent
    return x * x * x, gradient


with writer.as_default():
    for step in range(6):
        with tf.GradientTape() as tape:
            with tf.name_scope("layer"):
                hidden = tf.nn.relu(tf.matmul(data, weight) + bias)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=goal, logits=cube(hidden)))
        gradients = tape.gradient(loss, [weight, bias])
        optimizer.apply_gradients(zip(gradients, [weight, bias]))
        tf.summary.scalar("loss", loss, step=step)
        tf.summary.histogram("weights", weight, step=step)
    tf.summary.image("pictures", tf.zeros([1, 2, 2, 3]), step=0)

borrowed = tf.convert_to_tensor(np.full((5, 50), 2.5, np.float32))
tf.reduce_sum(borrowed)
tf.transpose(words[None])
tf.math.log(tf.constant([-1.0, 2.0])) + 1.0
try:
    tf.linalg.cholesky(tf.constant([[-1.0, 0.0], [0.0, 1.0]]))
except Exception as error:
    print(type(error).__name__, error)
