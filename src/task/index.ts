export { callbackFaultText, called, FaultError, reasonOf, type CallbackThrew } from './fault.ts'
export { newAbort, type Abort, type Signal, type SignalLike } from './signal.ts'
export { taskOf, type Task, type TaskFor, type TaskOf } from './task.ts'
