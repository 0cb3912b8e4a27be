"""TensorFlow 2's tf.metrics: tf.keras.metrics. TensorFlow 1's functions of that name made two ops of a graph each."""
from tapedeck._core.missing import MissingName

_FIRST = {
    "accuracy": "Accuracy", "auc": "AUC", "average_precision_at_k": None, "false_negatives": "FalseNegatives",
    "false_negatives_at_thresholds": "FalseNegatives", "false_positives": "FalsePositives",
    "false_positives_at_thresholds": "FalsePositives", "mean": "Mean", "mean_cosine_distance": "CosineSimilarity",
    "mean_iou": "MeanIoU", "mean_per_class_accuracy": None, "mean_relative_error": None, "mean_tensor": "MeanTensor",
    "percentage_below": None, "precision": "Precision", "precision_at_k": "Precision", "precision_at_thresholds": "Precision",
    "precision_at_top_k": "Precision", "recall": "Recall", "recall_at_k": "Recall", "recall_at_thresholds": "Recall",
    "recall_at_top_k": "Recall", "root_mean_squared_error": "RootMeanSquaredError",
    "sensitivity_at_specificity": "SensitivityAtSpecificity", "sparse_average_precision_at_k": None, "sparse_precision_at_k": None,
    "specificity_at_sensitivity": "SpecificityAtSensitivity", "true_negatives": "TrueNegatives",
    "true_negatives_at_thresholds": "TrueNegatives", "true_positives": "TruePositives",
    "true_positives_at_thresholds": "TruePositives",
}


def __getattr__(name):
    if name in _FIRST:
        instead = f"tf.keras.metrics.{_FIRST[name]}" if _FIRST[name] else "a subclass of tf.keras.metrics.Metric"
        raise AttributeError(f"tf.metrics.{name}: TensorFlow 1's function made two ops of a graph, the value and its update, "
                             f"which Tapedeck does not have; use {instead}, or tfe.metrics")
    raise MissingName("tapedeck.metrics", name)
