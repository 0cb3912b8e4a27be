"""tf.keras.callbacks: what is told how training goes, and may change it."""
from tapedeck.keras.callbacks.base import Callback, CallbackList, History, LambdaCallback, ProgbarLogger
from tapedeck.keras.callbacks.files import BackupAndRestore, CSVLogger, ModelCheckpoint, TensorBoard
from tapedeck.keras.callbacks.watching import EarlyStopping, LearningRateScheduler, ReduceLROnPlateau, TerminateOnNaN

__all__ = ["BackupAndRestore", "CSVLogger", "Callback", "CallbackList", "EarlyStopping", "History", "LambdaCallback",
           "LearningRateScheduler", "ModelCheckpoint", "ProgbarLogger", "ReduceLROnPlateau", "TensorBoard", "TerminateOnNaN"]
