/** For the packages of this repository, which are released together. Other programs get no promise here. */
export {
  type CallbackThrew,
  FaultError,
  type Sentences,
  type SignalLike,
  type Task,
  type TaskOf,
  after,
  amount,
  called,
  longestTimer,
  pagesOf,
  reasonOf,
  sentencesOf,
  taskOf,
} from './index.ts'
